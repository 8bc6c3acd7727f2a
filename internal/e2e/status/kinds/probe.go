// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

// Probe is a kind as a project would write it: its status embeds the Stamp, and
// it has the markers that status.Rules documents.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || has(self.status)",message="status may not be dropped"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.observedGeneration) || has(self.status.observedGeneration) && self.status.observedGeneration >= oldSelf.status.observedGeneration",message="status.observedGeneration may not go back"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.startedAt) || has(self.status.startedAt) && int(self.status.startedAt) == int(oldSelf.status.startedAt)",message="status.startedAt may not change once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.finishedAt) || has(self.status.finishedAt) && int(self.status.finishedAt) == int(oldSelf.status.finishedAt)",message="status.finishedAt may not change once set"
type Probe struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProbeSpec   `json:"spec,omitzero"`
	Status ProbeStatus `json:"status,omitzero"`
}

// ProbeSpec changes to make a new generation.
type ProbeSpec struct {
	// Image is any text.
	// +optional
	Image string `json:"image,omitempty"`
}

// ProbeStatus has a field and conditions, in addition to the contract's.
type ProbeStatus struct {
	status.Stamp `json:",inline"`

	// Phase is any text.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Conditions are written by several controllers, each its own.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
