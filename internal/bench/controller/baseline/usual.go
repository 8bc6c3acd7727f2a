// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package baseline

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// usual runs AgentRuns as Jobs.
type usual struct {
	client.Client

	events events.EventRecorder
}

// Reconcile makes steps with one run until it has to wait.
func (r *usual) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := new(v1alpha1.AgentRun)
	if err := r.Get(ctx, req.NamespacedName, run); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if run.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	if run.Status.Phase.Progress() == status.Done {
		return expire(ctx, r.Client, run)
	}
	job := new(batchv1.Job)
	err := r.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: jobName(run)}, job)
	switch {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, r.begin(ctx, run)
	case err != nil:
		return ctrl.Result{}, err
	case !metav1.IsControlledBy(job, run):
		message := fmt.Sprintf("Job %s belongs to another run", job.Name)
		return ctrl.Result{}, r.fail(ctx, run, "NameTaken", message)
	case run.Spec.Cancel && !finished(job):
		return ctrl.Result{}, r.cancel(ctx, run, job)
	case run.Spec.Suspend != *job.Spec.Suspend && !finished(job):
		patch := client.MergeFrom(job.DeepCopy())
		job.Spec.Suspend = new(run.Spec.Suspend)
		return ctrl.Result{}, r.Patch(ctx, job, patch)
	}
	return ctrl.Result{}, r.follow(ctx, run, job)
}

// begin creates the Job of a run, unless it had one.
func (r *usual) begin(ctx context.Context, run *v1alpha1.AgentRun) error {
	switch {
	case run.Status.JobRef != nil:
		message := fmt.Sprintf("Job %s is gone and its result was never seen", run.Status.JobRef.Name)
		return r.fail(ctx, run, "WorkflowJobMissing", message)
	case run.Spec.Cancel:
		return r.update(ctx, run, v1alpha1.Cancelled, "Cancelled", "", nil)
	case run.Spec.Parameters["prompt"] != "":
		return r.fail(ctx, run, "InvalidSpec", promptRefused)
	}
	if err := r.findSecret(ctx, run); err != nil {
		return err
	}
	job, err := newJob(run)
	if err != nil {
		return err
	}
	job.Spec.TTLSecondsAfterFinished = jobTTL(run) // as Kubernetes documents
	if err := ctrl.SetControllerReference(run, job, r.Scheme()); err != nil {
		return err
	}
	if err := r.Create(ctx, job); apierrors.IsInvalid(err) {
		return r.fail(ctx, run, "InvalidSpec", err.Error())
	} else if err != nil && !apierrors.IsAlreadyExists(err) { // the cache will have the existing Job
		return err
	}
	ref := &jobgc.Ref{Namespace: run.Namespace, Name: job.Name, UID: job.UID}
	return r.update(ctx, run, v1alpha1.Pending, "WaitingForJob", "", ref)
}

// findSecret returns an error if the run names a Secret or a key that does not
// exist, and reports that.
func (r *usual) findSecret(ctx context.Context, run *v1alpha1.AgentRun) error {
	ref := run.Spec.SecretRef
	if ref == nil {
		return nil
	}
	secret := new(corev1.Secret)
	err := r.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: ref.Name}, secret, uncached)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil && len(secret.Data[ref.Key]) > 0 {
		return nil
	}
	message := fmt.Sprintf("spec.secretRef: Secret %q has no key %q yet", ref.Name, ref.Key)
	r.events.Eventf(run, nil, corev1.EventTypeWarning, "MissingSecret", "Reconcile", "%s", message)
	if err := r.update(ctx, run, v1alpha1.Pending, "MissingSecret", message, nil); err != nil {
		return err
	}
	return fmt.Errorf("%s", message) // with backoff
}

// follow records the state of the Job.
func (r *usual) follow(ctx context.Context, run *v1alpha1.AgentRun, job *batchv1.Job) error {
	ref := &jobgc.Ref{Namespace: run.Namespace, Name: job.Name, UID: job.UID}
	started := job.Status.StartTime
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			ref.Outcome = jobgc.Succeeded
			completed := job.Status.CompletionTime
			return r.update(ctx, run, v1alpha1.Succeeded, "JobSucceeded", "", ref, started, completed)
		case batchv1.JobFailed:
			ref.Outcome = jobgc.Failed
			message := fmt.Sprintf("Job %s failed: %s: %s", job.Name, c.Reason, c.Message)
			failed := &c.LastTransitionTime
			err := r.update(ctx, run, v1alpha1.Failed, "JobFailed", message, ref, started, failed)
			if err != nil {
				return err
			}
			r.events.Eventf(run, nil, corev1.EventTypeWarning, "JobFailed", "Reconcile", "%s", message)
			return nil
		default: // the Job is running
		}
	}
	switch {
	case *job.Spec.Suspend:
		return r.update(ctx, run, v1alpha1.Pending, "Suspended", "", ref)
	case started != nil:
		return r.update(ctx, run, v1alpha1.Running, "JobRunning", "", ref, started)
	}
	return r.update(ctx, run, v1alpha1.Pending, "WaitingForJob", "", ref)
}

// cancel deletes the Job and ends the run.
func (r *usual) cancel(ctx context.Context, run *v1alpha1.AgentRun, job *batchv1.Job) error {
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	err := r.Delete(ctx, job, background, client.Preconditions{UID: &job.UID})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return r.update(ctx, run, v1alpha1.Cancelled, "Cancelled", "", nil)
}

// fail ends a run, and reports it after that is recorded.
func (r *usual) fail(ctx context.Context, run *v1alpha1.AgentRun, reason, message string) error {
	if err := r.update(ctx, run, v1alpha1.Failed, reason, message, nil); err != nil {
		return err
	}
	r.events.Eventf(run, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
	return nil
}

// update writes the status if it changes.
func (r *usual) update(
	ctx context.Context, run *v1alpha1.AgentRun, phase v1alpha1.Phase, reason, message string,
	ref *jobgc.Ref, times ...*metav1.Time,
) error {
	key := client.ObjectKeyFromObject(run)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := r.Get(ctx, key, run); err != nil {
			return client.IgnoreNotFound(err)
		}
		if run.Status.Phase.Progress() == status.Done {
			return nil
		}
		if !set(run, phase, reason, message, ref, times...) {
			return nil
		}
		log.FromContext(ctx).V(1).Info("status", "phase", phase, "reason", reason)
		return r.Status().Update(ctx, run)
	})
}
