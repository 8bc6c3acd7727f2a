// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package baseline

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// errOldCache ends an attempt whose copy of the run is not the stored one.
var errOldCache = errors.New("the cache does not show the run's last change yet")

// careful runs AgentRuns as Jobs and loses no result. A Job gets its TTL after
// its result is recorded. A status write fails if the run has changed since it
// was read. A Job counts as missing only after a 404 of the API server. Before
// it creates a Job, it reads the run live. It reports a change once, after it
// is recorded.
//
// A line that ends in +more is for what the examples onejob and first do not
// have. make compare counts the others.
type careful struct {
	client.Client

	live   client.Reader // the API server, not the cache
	events events.EventRecorder
	trusts bool // its cache, when it creates a Job +more
}

// Reconcile makes one step with a run.
func (r *careful) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := new(v1alpha1.AgentRun)
	if err := r.Get(ctx, req.NamespacedName, run); err != nil || run.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	job, err := r.job(ctx, run)
	if err != nil {
		return ctrl.Result{}, err
	}
	if run.Status.Phase.Progress() != status.Done {
		before := run.DeepCopy()
		changed, err := r.advance(ctx, run, job)
		if changed {
			err = errors.Join(err, r.record(ctx, before, run))
		}
		if err != nil || run.Status.Phase.Progress() != status.Done {
			return ctrl.Result{}, err
		}
	}
	if err := r.release(ctx, run, job); err != nil {
		return ctrl.Result{}, err // +more
	} // +more
	return expire(ctx, r.Client, run) // +more
}

// job returns the Job of a run, or nil. A cache may be behind the run that
// names the Job, so a miss is checked with the API server.
func (r *careful) job(ctx context.Context, run *v1alpha1.AgentRun) (*batchv1.Job, error) {
	job, key := new(batchv1.Job), types.NamespacedName{Namespace: run.Namespace, Name: jobName(run)}
	err := r.Get(ctx, key, job)
	if apierrors.IsNotFound(err) && run.Status.JobRef != nil && run.Status.Phase.Progress() != status.Done {
		err = r.live.Get(ctx, key, job)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return job, nil
}

// advance changes the status of a run as its Job demands, and reports whether
// it did.
func (r *careful) advance(
	ctx context.Context, run *v1alpha1.AgentRun, job *batchv1.Job,
) (changed bool, err error) {
	ref := run.Status.JobRef
	switch {
	case job == nil && ref == nil:
		return r.begin(ctx, run)
	case job == nil || ref != nil && ref.UID != job.UID:
		return set(run, gone(ref.Name)), nil
	case !metav1.IsControlledBy(job, run):
		return set(run, taken(job)), nil
	case ended(job) != nil:
		return set(run, follow(job)), nil
	case run.Spec.Cancel: // +more
		return set(run, cancelled(job)), nil // +more
	case run.Spec.Suspend != *job.Spec.Suspend: // +more
		return false, r.suspend(ctx, job, run.Spec.Suspend) // +more
	}
	return set(run, follow(job)), nil
}

// begin creates the Job of a run that has recorded none.
func (r *careful) begin(ctx context.Context, run *v1alpha1.AgentRun) (changed bool, err error) {
	wrong, err := r.refuse(ctx, run) // +more
	if wrong != nil || err != nil {  // +more
		return wrong != nil && set(run, wrong), err // +more
	} // +more
	job, err := newJob(run, r.Scheme()) // without a TTL
	if err != nil {
		return false, err
	}
	// A cache from before the Job shows the run without one, and the Job may be
	// gone by now.
	stored := new(v1alpha1.AgentRun)
	if !r.trusts { // +more
		err = r.live.Get(ctx, client.ObjectKeyFromObject(run), stored)
		if err == nil && stored.ResourceVersion != run.ResourceVersion {
			err = errOldCache // with backoff
		}
	} // +more
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	switch err := r.Create(ctx, job); {
	case apierrors.IsInvalid(err): // +more
		return set(run, fails("InvalidSpec", err.Error())), nil // +more
	case apierrors.IsAlreadyExists(err):
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err
		}
		return r.advance(ctx, run, job)
	case err != nil:
		return false, err
	}
	return set(run, waits(job)), nil
}

// record writes the status, unless the run has changed since it was read, and
// then reports a failure.
func (r *careful) record(ctx context.Context, before, run *v1alpha1.AgentRun) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, run, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	st := run.Status
	isFailure := st.Phase == v1alpha1.Failed || st.Reason == "MissingSecret"
	isNew := st.Reason != before.Status.Reason || st.Message != before.Status.Message
	if isFailure && isNew {
		r.events.Eventf(run, nil, corev1.EventTypeWarning, st.Reason, "Reconcile", "%s", st.Message)
	}
	return nil
}

// release gives the Job of a run that has ended its TTL, or deletes it if the
// run was cancelled.
func (r *careful) release(ctx context.Context, run *v1alpha1.AgentRun, job *batchv1.Job) error {
	switch {
	case job == nil || job.DeletionTimestamp != nil || !metav1.IsControlledBy(job, run):
		return nil
	case ended(job) == nil: // +more
		return r.stop(ctx, job) // +more
	case job.Spec.TTLSecondsAfterFinished != nil:
		return nil
	}
	patch := client.MergeFrom(job.DeepCopy())
	job.Spec.TTLSecondsAfterFinished = jobTTL(run)
	return client.IgnoreNotFound(r.Patch(ctx, job, patch))
}

// refuse returns the state of a run that gets no Job, or not yet, or nil.
func (r *careful) refuse(ctx context.Context, run *v1alpha1.AgentRun) (*state, error) {
	if end := withoutJob(run); end != nil {
		return end, nil
	}
	missing, err := withoutSecret(ctx, r.Client, run)
	if missing != nil {
		err = errors.New(missing.message) // with backoff
	}
	return missing, err
}

// suspend suspends or resumes a Job.
func (r *careful) suspend(ctx context.Context, job *batchv1.Job, is bool) error {
	patch := client.MergeFrom(job.DeepCopy())
	job.Spec.Suspend = &is
	return r.Patch(ctx, job, patch)
}

// stop deletes the Job of a cancelled run.
func (r *careful) stop(ctx context.Context, job *batchv1.Job) error {
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	return client.IgnoreNotFound(r.Delete(ctx, job, background, client.Preconditions{UID: &job.UID}))
}
