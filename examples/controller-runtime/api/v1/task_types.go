// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// The phases of a Task.
const (
	Pending   = "Pending"
	Running   = "Running"
	Succeeded = "Succeeded"
	Failed    = "Failed"
)

// TaskSpec is what to run.
type TaskSpec struct {
	// Image of the container that does the work.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// Command replaces the image's entrypoint.
	// +optional
	Command []string `json:"command,omitempty"`
	// PodAnnotations are put on the pod.
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
}

// TaskStatus is the observed state.
type TaskStatus struct {
	status.Stamp `json:",inline"`

	// Phase is where the Task is in its life.
	// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed
	// +optional
	Phase string `json:"phase,omitempty"`
	// Job that does the work.
	// +optional
	Job *jobgc.Ref `json:"job,omitempty"`
	// Conditions of the Task: Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Task is work that a Job does once.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type Task struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   TaskSpec   `json:"spec"`
	Status TaskStatus `json:"status,omitzero"`
}

// Done reports whether the phase is final.
func (t *Task) Done() bool { return t.Status.Phase == Succeeded || t.Status.Phase == Failed }

// TaskList is a list of Tasks.
//
// +kubebuilder:object:root=true
type TaskList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []Task `json:"items"`
}
