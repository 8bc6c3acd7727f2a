// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/status"
)

var (
	group   = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	runKind = group.WithKind("Run")
	noon    = metav1.NewTime(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
)

// Run is the kind whose status is written. Its spec is small and it has no
// managedFields, which favours the peers: they marshal or convert the whole
// object, and the library reads the status alone.
type Run struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   RunSpec   `json:"spec,omitzero"`
	Status RunStatus `json:"status,omitzero"`
}

// RunSpec is what a Run should do.
type RunSpec struct {
	Image string `json:"image,omitempty"`
}

// RunStatus is the status of a Run.
type RunStatus struct {
	status.Stamp `json:",inline"`

	Phase      string             `json:"phase,omitempty"`
	Message    string             `json:"message,omitempty"`
	Runtime    map[string]string  `json:"runtimeRef,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GetConditions makes a Run fit for the conditions of flux and cluster-api.
func (r *Run) GetConditions() []metav1.Condition { return r.Status.Conditions }

// SetConditions makes a Run fit for the conditions of flux and cluster-api.
func (r *Run) SetConditions(c []metav1.Condition) { r.Status.Conditions = c }

// DeepCopyObject is what a generator would write, as the others here.
func (r *Run) DeepCopyObject() runtime.Object { return r.DeepCopy() }

// DeepCopy copies r.
func (r *Run) DeepCopy() *Run {
	out := new(Run)
	r.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies r over out.
func (r *Run) DeepCopyInto(out *Run) {
	*out = *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	r.Status.DeepCopyInto(&out.Status)
}

// DeepCopyInto copies s over out.
func (s *RunStatus) DeepCopyInto(out *RunStatus) {
	*out = *s
	s.Stamp.DeepCopyInto(&out.Stamp)
	out.Runtime = maps.Clone(s.Runtime)
	if s.Conditions != nil {
		out.Conditions = make([]metav1.Condition, len(s.Conditions))
		for i := range s.Conditions {
			s.Conditions[i].DeepCopyInto(&out.Conditions[i])
		}
	}
}

// bigRun is a Run in the middle of its work, with five conditions.
func bigRun() *Run {
	r := &Run{
		TypeMeta: metav1.TypeMeta{APIVersion: group.String(), Kind: runKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name: "run-1", Namespace: "ci", UID: "u", ResourceVersion: "4711", Generation: 3,
		},
		Spec: RunSpec{Image: "registry.example.com/agent:1.4.2"},
	}
	r.Status = RunStatus{
		Stamp:   status.Stamp{ObservedGeneration: 3, UpdatedAt: noon.DeepCopy(), StartedAt: noon.DeepCopy()},
		Phase:   "Running",
		Runtime: map[string]string{"node": "n1", "zone": "a"},
	}
	for i := range 5 {
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{
			Type: "Condition" + strconv.Itoa(i), Status: metav1.ConditionTrue, Reason: "AsExpected",
			Message: "everything is as it should be", ObservedGeneration: 3, LastTransitionTime: noon,
		})
	}
	return r
}

// flipped is bigRun with one condition changed.
func flipped() *Run {
	r := bigRun()
	c := &r.Status.Conditions[2]
	c.Status = metav1.ConditionFalse
	c.Reason = "Lost"
	c.LastTransitionTime = metav1.NewTime(noon.Add(time.Minute))
	return r
}

// stepped is flipped with two fields changed as well.
func stepped() *Run {
	r := flipped()
	r.Status.Phase, r.Status.Message = "Stopping", "a step was lost"
	return r
}
