// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Outcome is how a Job ended: Succeeded or Failed. It is empty until the Job is
// Complete or Failed: SuccessCriteriaMet and FailureTarget announce an outcome
// and are none yet.
//
// +kubebuilder:validation:Enum=Succeeded;Failed
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "Succeeded"
	Failed    Outcome = "Failed"
)

// Ref is the record of a Job in the status of its owner. This package needs
// nothing else after a restart. Copy it with DeepCopy, and compare CreatedAt by
// its Equal method. It can be a field of a CRD's status. If the schema prunes
// fields, Name and UID must stay.
//
// An owner without a status, such as a ConfigMap, can hold it as JSON in an
// annotation. If the record is removed, the work may run again.
type Ref struct {
	// Namespace of the Job. Step sets it. The function Inspect reads in the
	// namespace of its client. It returns an error if the Job that it gets is
	// in another one.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the Job. Step sets it to Request.Name or run-<uid of the
	// owner>.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// UID of the Job. Empty means that no Job is known to have been created.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// CreatedAt is when Step created or adopted the Job, by the controller's
	// clock.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`

	// Outcome, once it is known. Step releases a Job only after it is recorded.
	// +optional
	Outcome Outcome `json:"outcome,omitempty"`
}

// DeepCopyInto copies r into out. Neither may be nil.
func (r *Ref) DeepCopyInto(out *Ref) {
	*out = *r
	out.CreatedAt = r.CreatedAt.DeepCopy()
}

// DeepCopy returns a copy that shares nothing with r; nil for nil.
func (r *Ref) DeepCopy() *Ref {
	if r == nil {
		return nil
	}
	out := new(Ref)
	r.DeepCopyInto(out)
	return out
}
