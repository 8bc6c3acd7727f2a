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
	"k8s.io/client-go/util/retry"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
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
		return ctrl.Result{}, r.report(ctx, run, taken(job))
	case run.Spec.Cancel && ended(job) == nil:
		return ctrl.Result{}, r.cancel(ctx, run, job)
	case run.Spec.Suspend != *job.Spec.Suspend && ended(job) == nil:
		patch := client.MergeFrom(job.DeepCopy())
		job.Spec.Suspend = new(run.Spec.Suspend)
		return ctrl.Result{}, r.Patch(ctx, job, patch)
	}
	return ctrl.Result{}, r.report(ctx, run, follow(job))
}

// begin creates the Job of a run, unless it had one.
func (r *usual) begin(ctx context.Context, run *v1alpha1.AgentRun) error {
	if run.Status.JobRef != nil {
		return r.report(ctx, run, gone(run.Status.JobRef.Name))
	}
	if end := withoutJob(run); end != nil {
		return r.report(ctx, run, end)
	}
	missing, err := withoutSecret(ctx, r.Client, run)
	if err != nil {
		return err
	}
	if missing != nil {
		r.events.Eventf(run, nil, corev1.EventTypeWarning, missing.reason, "Reconcile", "%s", missing.message)
		return errors.Join(r.update(ctx, run, missing), errors.New(missing.message)) // with backoff
	}
	job, err := newJob(run, r.Scheme())
	if err != nil {
		return err
	}
	job.Spec.TTLSecondsAfterFinished = jobTTL(run) // as Kubernetes documents
	if err := r.Create(ctx, job); apierrors.IsInvalid(err) {
		return r.report(ctx, run, fails("InvalidSpec", err.Error()))
	} else if err != nil && !apierrors.IsAlreadyExists(err) { // the cache will have the existing Job
		return err
	}
	return r.update(ctx, run, waits(job))
}

// cancel deletes the Job and ends the run.
func (r *usual) cancel(ctx context.Context, run *v1alpha1.AgentRun, job *batchv1.Job) error {
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	err := r.Delete(ctx, job, background, client.Preconditions{UID: &job.UID})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return r.update(ctx, run, withoutJob(run))
}

// report writes the status, and reports a failure after it is recorded.
func (r *usual) report(ctx context.Context, run *v1alpha1.AgentRun, s *state) error {
	err := r.update(ctx, run, s)
	if err == nil && s.phase == v1alpha1.Failed {
		r.events.Eventf(run, nil, corev1.EventTypeWarning, s.reason, "Reconcile", "%s", s.message)
	}
	return err
}

// update writes the status if it changes.
func (r *usual) update(ctx context.Context, run *v1alpha1.AgentRun, s *state) error {
	key := client.ObjectKeyFromObject(run)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := r.Get(ctx, key, run); err != nil {
			return client.IgnoreNotFound(err)
		}
		if run.Status.Phase.Progress() == status.Done {
			return nil
		}
		if !set(run, s) {
			return nil
		}
		log.FromContext(ctx).V(1).Info("status", "phase", s.phase, "reason", s.reason)
		return r.Status().Update(ctx, run)
	})
}
