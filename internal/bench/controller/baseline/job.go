// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package baseline

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	if own := run.Spec.JobTTLSecondsAfterFinished; own != nil {
		return own
	}
	return new(int32(600))
}

// promptRefused is the message of a run with its prompt in the parameters.
const promptRefused = "spec.parameters[prompt] is not accepted: " +
	"put the prompt into a Secret and name it in spec.secretRef"

// newJob is the Job of a run, without a TTL.
func newJob(run *v1alpha1.AgentRun) (*batchv1.Job, error) {
	container := corev1.Container{
		Name: "agent", Image: run.Spec.Image, Command: run.Spec.Command, Args: run.Spec.Args,
	}
	if len(run.Spec.Parameters) > 0 {
		parameters, err := json.Marshal(run.Spec.Parameters)
		if err != nil {
			return nil, err
		}
		// The kubelet replaces $(NAME) in a value, and makes $$ a $.
		literal := strings.ReplaceAll(string(parameters), "$", "$$")
		container.Env = append(container.Env, corev1.EnvVar{Name: "AGENT_PARAMETERS", Value: literal})
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
	return &batchv1.Job{
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
	}, nil
}

func finished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		isEnd := c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed
		if isEnd && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// set changes the status of a run and reports whether it differs. The times are
// the start and the end of the Job, if they exist.
func set(
	run *v1alpha1.AgentRun, phase v1alpha1.Phase, reason, message string,
	ref *jobgc.Ref, times ...*metav1.Time,
) (changed bool) {
	before := run.Status.DeepCopy()
	st := &run.Status
	st.Phase, st.Reason, st.Message = phase, reason, message
	if ref != nil {
		st.JobRef = ref
	}
	now := metav1.Now()
	if st.StartedAt == nil && len(times) > 0 {
		st.StartedAt = times[0]
	}
	if phase.Progress() == status.Done && st.FinishedAt == nil {
		if st.FinishedAt = &now; len(times) > 1 {
			st.FinishedAt = times[1]
		}
	}
	conditions(run)
	st.ObservedGeneration = run.Generation
	if equality.Semantic.DeepEqual(before, st) {
		return false
	}
	st.UpdatedAt = &now
	return true
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
