// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate has the code of the migration guides, before and after, so
// that it compiles. Its tests compare what both do, and internal/repotest
// compares the guides with the code.
package migrate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// Run is the kind whose controller is migrated.
type Run struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status RunStatus `json:"status,omitzero"`
}

// RunStatus is the status of a Run.
type RunStatus struct {
	status.Stamp `json:",inline"`

	Phase      string             `json:"phase,omitempty"`
	Job        *jobgc.Ref         `json:"job,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GetConditions is what flux's packages ask for.
func (r *Run) GetConditions() []metav1.Condition { return r.Status.Conditions }

// SetConditions is what flux's packages ask for.
func (r *Run) SetConditions(c []metav1.Condition) { r.Status.Conditions = c }

// DeepCopy copies r.
func (r *Run) DeepCopy() *Run {
	out := &Run{TypeMeta: r.TypeMeta, ObjectMeta: *r.ObjectMeta.DeepCopy(), Status: r.Status}
	r.Status.DeepCopyInto(&out.Status.Stamp)
	out.Status.Job = r.Status.Job.DeepCopy()
	out.Status.Conditions = append([]metav1.Condition(nil), r.Status.Conditions...)
	return out
}

// DeepCopyObject copies r.
func (r *Run) DeepCopyObject() runtime.Object { return r.DeepCopy() }

// Version is the group and the version of Runs.
func Version() schema.GroupVersion {
	return schema.GroupVersion{Group: "agents.example.com", Version: "v1"}
}

// NewScheme knows Runs.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(Version(), &Run{})
	metav1.AddToGroupVersion(scheme, Version())
	return scheme
}
