// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/status"
)

// Run is a typical kind of a project: it embeds the Stamp and has custom
// phases.
type Run struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   RunSpec   `json:"spec,omitzero"`
	Status RunStatus `json:"status,omitzero"`
}

type RunSpec struct {
	Image string `json:"image,omitempty"`
}

type RunStatus struct {
	status.Stamp `json:",inline"`

	Phase      string             `json:"phase,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	Message    string             `json:"message,omitempty"`
	JobRef     *JobRef            `json:"jobRef,omitempty"`
	Runtime    map[string]string  `json:"runtimeRef,omitempty"`
	Steps      []Step             `json:"steps,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type JobRef struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

type Step struct {
	Name      string       `json:"name"`
	Phase     string       `json:"phase,omitempty"`
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

func (r *Run) DeepCopyObject() runtime.Object { return r.DeepCopy() }

func (r *Run) DeepCopy() *Run {
	out := *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta) //nolint:staticcheck // which of the embedded ones matters
	r.Status.DeepCopyInto(&out.Status)
	return &out
}

func (s *RunStatus) DeepCopyInto(out *RunStatus) {
	*out = *s
	s.Stamp.DeepCopyInto(&out.Stamp)
	if s.JobRef != nil {
		out.JobRef = ptr.To(*s.JobRef)
	}
	if s.Runtime != nil {
		out.Runtime = maps.Clone(s.Runtime)
	}
	if s.Steps != nil {
		out.Steps = make([]Step, len(s.Steps))
		for i, st := range s.Steps {
			st.StartedAt = st.StartedAt.DeepCopy()
			out.Steps[i] = st
		}
	}
	if s.Conditions != nil {
		out.Conditions = make([]metav1.Condition, len(s.Conditions))
		for i := range s.Conditions {
			s.Conditions[i].DeepCopyInto(&out.Conditions[i])
		}
	}
}

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(noon.Add(d))) }
