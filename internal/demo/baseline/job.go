// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package baseline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// jobName is fixed for a run, so that a stale cache does not cause a second
// Job.
func jobName(run *v1alpha1.AgentRun) string {
	return run.Name[:min(len(run.Name), 54)] + "-" + string(run.UID[:8])
}

// jobTTL is how long the Job of a run stays after its end.
func jobTTL(run *v1alpha1.AgentRun) *int32 {
	if own := run.Spec.JobTTLSecondsAfterFinished; own != nil { // +more
		return own // +more
	} // +more
	return new(int32(600))
}

// state is what a status says of a run.
type state struct {
	phase             v1alpha1.Phase
	reason, message   string
	ref               *jobgc.Ref   // nil keeps the recorded one
	started, finished *metav1.Time // of the Job, if they exist +more
}

func fails(reason, message string) *state {
	return &state{phase: v1alpha1.Failed, reason: reason, message: message}
}

// withoutJob is the state of a run that gets no Job, or nil.
func withoutJob(run *v1alpha1.AgentRun) *state {
	switch {
	case run.Spec.Cancel:
		return cancelled(nil)
	case run.Spec.Parameters["prompt"] != "":
		return fails("InvalidSpec", "spec.parameters[prompt] is not accepted: "+
			"put the prompt into a Secret and name it in spec.secretRef")
	}
	return nil
}

// cancelled is the state of a cancelled run, which may have a Job.
func cancelled(job *batchv1.Job) *state {
	s := &state{phase: v1alpha1.Cancelled, reason: "Cancelled"}
	if job != nil {
		s.ref = waits(job).ref
	}
	return s
}

// withoutSecret is the state of a run that names a Secret or a key that does
// not exist, or nil.
func withoutSecret(ctx context.Context, c client.Client, run *v1alpha1.AgentRun) (*state, error) {
	ref := run.Spec.SecretRef
	if ref == nil {
		return nil, nil //nolint:nilnil // it waits for nothing
	}
	secret := new(corev1.Secret)
	err := c.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: ref.Name}, secret, uncached)
	if client.IgnoreNotFound(err) != nil || len(secret.Data[ref.Key]) > 0 {
		return nil, err
	}
	message := fmt.Sprintf("spec.secretRef: Secret %q has no key %q yet", ref.Name, ref.Key)
	return &state{phase: v1alpha1.Pending, reason: "MissingSecret", message: message}, nil
}

// gone and taken are the states of a run without its Job.
func gone(name string) *state {
	return fails("WorkflowJobMissing", fmt.Sprintf("Job %s is gone and its result was never seen", name))
}

func taken(job *batchv1.Job) *state {
	return fails("NameTaken", fmt.Sprintf("Job %s belongs to another run", job.Name))
}

// waits is the state of a run whose Job has not started.
func waits(job *batchv1.Job) *state {
	ref := &jobgc.Ref{Namespace: job.Namespace, Name: job.Name, UID: job.UID}
	return &state{phase: v1alpha1.Pending, reason: "WaitingForJob", ref: ref}
}

// follow is the state of a run as its Job demands.
func follow(job *batchv1.Job) *state {
	s := waits(job)
	switch end := ended(job); {
	case end != nil && end.Type == batchv1.JobComplete:
		s.phase, s.reason = v1alpha1.Succeeded, "JobSucceeded"
		s.ref.Outcome = jobgc.Succeeded
		s.started, s.finished = job.Status.StartTime, job.Status.CompletionTime // +more
	case end != nil:
		s.phase, s.reason = v1alpha1.Failed, "JobFailed"
		s.message = fmt.Sprintf("Job %s failed: %s: %s", job.Name, end.Reason, end.Message)
		s.ref.Outcome = jobgc.Failed
		s.started, s.finished = job.Status.StartTime, &end.LastTransitionTime // +more
	case *job.Spec.Suspend: // +more
		s.reason = "Suspended" // +more
	case job.Status.StartTime != nil:
		s.phase, s.reason = v1alpha1.Running, "JobRunning"
		s.started = job.Status.StartTime // +more
	}
	return s
}

// ended returns the condition that says how a Job ended, or nil.
func ended(job *batchv1.Job) *batchv1.JobCondition {
	for i, c := range job.Status.Conditions {
		isEnd := c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed
		if isEnd && c.Status == corev1.ConditionTrue {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

// newJob is the Job of a run, without a TTL.
func newJob(run *v1alpha1.AgentRun, scheme *runtime.Scheme) (*batchv1.Job, error) {
	container := corev1.Container{
		Name: "agent", Image: run.Spec.Image, Command: run.Spec.Command, Args: run.Spec.Args,
	}
	if ref := run.Spec.SecretRef; ref != nil {
		selector := &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Key: ref.Key,
		}
		container.Env = append(container.Env, corev1.EnvVar{
			Name: "AGENT_SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: selector},
		})
	}
	backoff := run.Spec.BackoffLimit
	if backoff == nil {
		backoff = new(int32(0))
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "agentrun"}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: jobName(run), Labels: labels},
		Spec: batchv1.JobSpec{
			BackoffLimit:          backoff,
			ActiveDeadlineSeconds: run.Spec.TimeoutSeconds,
			Suspend:               new(run.Spec.Suspend),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: maps.Clone(labels), Annotations: maps.Clone(run.Spec.PodAnnotations),
				},
				Spec: corev1.PodSpec{
					RestartPolicy:      corev1.RestartPolicyNever,
					ServiceAccountName: run.Spec.ServiceAccountName,
					Containers:         []corev1.Container{container},
				},
			},
		},
	}
	return job, ctrl.SetControllerReference(run, job, scheme)
}

// set changes the status of a run and reports whether it differs.
func set(run *v1alpha1.AgentRun, s *state) (changed bool) {
	before := run.Status.DeepCopy()
	st := &run.Status
	st.Phase, st.Reason, st.Message = s.phase, s.reason, s.message
	if s.ref != nil {
		st.JobRef = s.ref
	}
	now := metav1.Now()
	if st.StartedAt == nil { // +more
		st.StartedAt = s.started // +more
	} // +more
	if s.phase.Progress() == status.Done && st.FinishedAt == nil { // +more
		st.FinishedAt = cmp.Or(s.finished, &now) // +more
	} // +more
	conditions(run) // +more
	st.ObservedGeneration = run.Generation
	if equality.Semantic.DeepEqual(before, st) {
		return false
	}
	st.UpdatedAt = &now
	return true
}

// Succeed ends a run as all controllers leave it whose Job succeeded.
func Succeed(run *v1alpha1.AgentRun) {
	now := metav1.Now()
	ref := &jobgc.Ref{
		Namespace: run.Namespace, Name: jobName(run), UID: "job-" + run.UID, Outcome: jobgc.Succeeded,
	}
	set(run, &state{
		phase: v1alpha1.Succeeded, reason: "JobSucceeded", ref: ref, started: &now, finished: &now,
	})
}

// expire returns when a run is past its retention, or deletes it.
func expire(ctx context.Context, c client.Client, run *v1alpha1.AgentRun) (ctrl.Result, error) {
	stay := 30 * 24 * time.Hour
	if own := run.Spec.TTLSecondsAfterFinished; own != nil {
		stay = time.Duration(*own) * time.Second
	}
	if stay == 0 || run.Status.FinishedAt == nil {
		return ctrl.Result{}, nil
	}
	if left := time.Until(run.Status.FinishedAt.Add(stay)); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(c.Delete(ctx, run))
}

// conditions sets the three conditions of a run from its phase.
func conditions(run *v1alpha1.AgentRun) {
	one := func(kind string, is bool) {
		truth := metav1.ConditionFalse
		if is {
			truth = metav1.ConditionTrue
		}
		apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{
			Type: kind, Status: truth, Reason: run.Status.Reason, Message: run.Status.Message,
			ObservedGeneration: run.Generation,
		})
	}
	one("Ready", run.Status.Phase == v1alpha1.Succeeded)
	one("Progressing", run.Status.Phase.Progress() != status.Done)
	one("Degraded", run.Status.Phase == v1alpha1.Failed)
}
