// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// jobName is fixed for a run, so that a stale cache does not cause a second
// Job.
func jobName(run *v1alpha1.AgentRun) string {
	return run.Name[:min(len(run.Name), 54)] + "-" + string(run.UID[:8])
}

// newJob is the Job of a run. Its TTL is set at the creation, as Kubernetes
// documents.
func newJob(run *v1alpha1.AgentRun) (*batchv1.Job, error) {
	container := corev1.Container{Name: "agent", Image: run.Spec.Image, Command: run.Spec.Command, Args: run.Spec.Args}
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
		container.Env = append(container.Env, corev1.EnvVar{Name: "AGENT_SECRET", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Key: ref.Key},
		}})
	}
	ttl := run.Spec.JobTTLSecondsAfterFinished
	if ttl == nil {
		ttl = new(int32(600))
	}
	backoff := run.Spec.BackoffLimit
	if backoff == nil {
		backoff = new(int32(0))
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "agentrun"}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: jobName(run), Labels: labels},
		Spec: batchv1.JobSpec{
			BackoffLimit:            backoff,
			ActiveDeadlineSeconds:   run.Spec.TimeoutSeconds,
			TTLSecondsAfterFinished: ttl,
			Suspend:                 new(run.Spec.Suspend),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels), Annotations: maps.Clone(run.Spec.PodAnnotations)},
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
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return true
		}
	}
	return false
}

// conditions sets the three conditions of a run from its phase.
func conditions(run *v1alpha1.AgentRun) {
	set := func(kind string, is bool) {
		truth := metav1.ConditionFalse
		if is {
			truth = metav1.ConditionTrue
		}
		apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{
			Type: kind, Status: truth, Reason: run.Status.Reason, Message: run.Status.Message, ObservedGeneration: run.Generation,
		})
	}
	set("Ready", run.Status.Phase == v1alpha1.Succeeded)
	set("Progressing", run.Status.Phase.Progress() != status.Done)
	set("Degraded", run.Status.Phase == v1alpha1.Failed)
}
