// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// runLabel marks the Jobs of this controller; its value is the uid of the run,
// which is always a valid label value.
const runLabel = "agents.controllerkit.dev/agent-run-uid"

// newJob is the Job of a run. Package jobgc names it, and sets its TTL once its
// result is recorded. An error says which part of the spec cannot work although
// the CRD's schema accepts it. The API server refuses other mistakes when the
// Job is created.
func newJob(run *v1alpha1.AgentRun) (*batchv1.Job, error) {
	_, prompt := run.Spec.Parameters["prompt"]
	if prompt {
		const text = "spec.parameters[prompt] is not accepted: " +
			"put the prompt into a Secret and name it in spec.secretRef"
		return nil, &failure{events.InvalidSpec, text}
	}
	labels := map[string]string{runLabel: string(run.UID), "app.kubernetes.io/managed-by": "agentrun"}
	container := corev1.Container{
		Name: "agent", Image: run.Spec.Image, Command: run.Spec.Command, Args: run.Spec.Args,
		Resources:       resources(run.Spec.Resources),
		SecurityContext: securityContext(run.Spec.SecurityContext),
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
		from := &corev1.SecretKeySelector{Key: ref.Key}
		from.Name = ref.Name
		container.Env = append(container.Env, corev1.EnvVar{
			Name: "AGENT_SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: from},
		})
	}
	owner := metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       run.Namespace,
			Labels:          labels,
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:          run.Spec.BackoffLimit,
			ActiveDeadlineSeconds: run.Spec.TimeoutSeconds,

			TTLSecondsAfterFinished: run.Spec.JobTTLSecondsAfterFinished,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      maps.Clone(labels),
					Annotations: maps.Clone(run.Spec.PodAnnotations),
				},
				Spec: corev1.PodSpec{
					RestartPolicy:                corev1.RestartPolicyNever,
					ServiceAccountName:           run.Spec.ServiceAccountName,
					AutomountServiceAccountToken: &run.Spec.AutomountServiceAccountToken,
					Containers:                   []corev1.Container{container},
				},
			},
		},
	}, nil
}

// resources are what a run asks for. Without requests, a namespace with a quota
// refuses the pod.
func resources(asked *corev1.ResourceRequirements) corev1.ResourceRequirements {
	if asked != nil {
		return *asked.DeepCopy()
	}
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("128Mi"),
	}}
}

// securityContext is what a run asks for. Unless it asks, its pod meets the
// restricted standard of pod security.
func securityContext(asked *corev1.SecurityContext) *corev1.SecurityContext {
	if asked != nil {
		return asked.DeepCopy()
	}
	return &corev1.SecurityContext{
		RunAsNonRoot:             new(true),
		RunAsUser:                new(int64(65532)),
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}
