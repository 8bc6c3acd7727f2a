// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// facts returns the facts for the status contract: whether the phase is
// terminal, and the times of the Job.
func facts(task *v1.Task, found jobgc.Observation) status.Facts {
	f := status.Facts{StartedAt: found.StartedAt, FinishedAt: found.FinishedAt}
	switch task.Status.Phase {
	case v1.Running:
		f.Progress = status.Running
	case v1.Succeeded, v1.Failed:
		f.Progress = status.Done
	}
	return f
}

// enter puts the Task into the phase that its Job is in, and its condition with
// it. A final phase stays.
func enter(task *v1.Task, found jobgc.Observation) {
	phase := v1.Pending
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "WaitingForJob"}
	switch {
	case task.Done():
		return
	case found.Lost():
		phase = v1.Failed
		ready.Reason = "JobLost"
		ready.Message = found.Message
	case found.State == jobgc.Finished:
		phase = string(found.Outcome)
		ready.Reason = "Job" + string(found.Outcome)
		ready.Message = found.Message
	case found.State == jobgc.Pending && task.Status.Phase != "":
		return
	case !found.StartedAt.IsZero():
		phase = v1.Running
		ready.Reason = "JobRunning"
	}
	if phase == v1.Succeeded {
		ready.Status = metav1.ConditionTrue
	}
	task.Status.Phase = phase
	status.SetCondition(&task.Status.Conditions, ready, time.Now())
}

// hinder records what keeps the Task from going on. A conflict is not recorded,
// because the next reconcile has the newer Task.
func hinder(task *v1.Task, err error) {
	reason, _ := events.Classify(err)
	if task.Done() || reason == events.Conflict {
		return
	}
	task.Status.Phase = cmp.Or(task.Status.Phase, v1.Pending)
	status.SetCondition(&task.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: redact.Text(err.Error()),
	}, time.Now())
}

// newJob is the Job of a Task. Its name and its TTL are set by jobgc.
func newJob(task *v1.Task) *batchv1.Job {
	var retries int32
	owner := *metav1.NewControllerRef(task, v1.GroupVersion().WithKind("Task"))
	container := corev1.Container{Name: "task", Image: task.Spec.Image, Command: task.Spec.Command}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       task.Namespace,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: &retries,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: task.Spec.PodAnnotations},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{container},
				},
			},
		},
	}
}
