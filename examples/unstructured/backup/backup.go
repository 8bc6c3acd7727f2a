// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// The spec of a Backup of backups.example.org/v1 has an image. Its status has a
// phase, startTime, completionTime, observedGeneration, and the name and uid of
// its Job. It has no updatedAt.
var (
	backups = schema.GroupVersionResource{Group: "backups.example.org", Version: "v1", Resource: "backups"}
	names   = status.FieldNames{StartedAt: "startTime", FinishedAt: "completionTime", UpdatedAt: "-"}
)

// The phases of a Backup.
const (
	created    = "New"
	inProgress = "InProgress"
	completed  = "Completed"
	failed     = "Failed"
)

func phaseOf(u *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	return phase
}

// enter puts the Backup into a phase.
func enter(u *unstructured.Unstructured, phase, message string) error {
	if err := unstructured.SetNestedField(u.Object, phase, "status", "phase"); err != nil {
		return err
	}
	if message == "" {
		unstructured.RemoveNestedField(u.Object, "status", "message")
		return nil
	}
	return unstructured.SetNestedField(u.Object, message, "status", "message")
}

// done reports whether the phase is final.
func done(u *unstructured.Unstructured) bool { return phaseOf(u) == completed || phaseOf(u) == failed }

// refOf reads the name and uid of the Job from the status. The phase is the
// outcome. Before the Job is created it returns nil.
func refOf(u *unstructured.Unstructured) *jobgc.Ref {
	uid, _, _ := unstructured.NestedString(u.Object, "status", "job", "uid")
	if uid == "" {
		return nil
	}
	ref := &jobgc.Ref{Namespace: u.GetNamespace(), UID: types.UID(uid)}
	ref.Name, _, _ = unstructured.NestedString(u.Object, "status", "job", "name")
	switch phaseOf(u) {
	case completed:
		ref.Outcome = jobgc.Succeeded
	case failed:
		ref.Outcome = jobgc.Failed
	}
	return ref
}

func keep(u *unstructured.Unstructured, ref jobgc.Ref) error {
	job := map[string]any{"name": ref.Name, "uid": string(ref.UID)}
	return unstructured.SetNestedMap(u.Object, job, "status", "job")
}

// facts returns the facts for the status contract.
func facts(u *unstructured.Unstructured, found jobgc.Observation) status.Facts {
	f := status.Facts{StartedAt: found.StartedAt, FinishedAt: found.FinishedAt}
	switch phaseOf(u) {
	case inProgress:
		f.Progress = status.Running
	case completed, failed:
		f.Progress = status.Done
	}
	return f
}

// newJob is the Job of a Backup. jobgc sets its name and its TTL.
func newJob(u *unstructured.Unstructured) *batchv1.Job {
	image, _, _ := unstructured.NestedString(u.Object, "spec", "image")
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       u.GetNamespace(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "backup", Image: image}},
		}}},
	}
}
