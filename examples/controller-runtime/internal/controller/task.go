// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/sha256"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// facts is what the status contract needs to know: which phases are terminal, and the Job's own times.
func facts(task *v1.Task, found jobgc.Finding) status.Facts {
	f := status.Facts{StartedAt: found.StartedAt, FinishedAt: found.FinishedAt}
	switch task.Status.Phase {
	case v1.Running:
		f.Progress = status.Running
	case v1.Succeeded, v1.Failed:
		f.Progress = status.Done
	}
	return f
}

// enter puts the Task into a phase, and its condition with it.
func enter(task *v1.Task, phase, reason, message string) {
	ready := metav1.ConditionFalse
	if phase == v1.Succeeded {
		ready = metav1.ConditionTrue
	}
	task.Status.Phase = phase
	status.SetCondition(&task.Status.Conditions, metav1.Condition{Type: "Ready", Status: ready, Reason: reason, Message: message}, time.Now())
}

// jobName is the same after a restart, and another one for a Task that is created again under its old name.
func jobName(task *v1.Task) string {
	return fmt.Sprintf("task-%x", sha256.Sum224([]byte(task.UID))) // 61 bytes; a Job's name has at most 63
}

// newJob is the Job of a Task. Its TTL is set by jobgc.
func newJob(task *v1.Task) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       task.Namespace,
			Name:            jobName(task),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(task, v1.GroupVersion().WithKind("Task"))},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: task.Spec.PodAnnotations},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "task", Image: task.Spec.Image, Command: task.Spec.Command}},
				},
			},
		},
	}
}
