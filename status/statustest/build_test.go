// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest_test

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/status"
)

// build is a kind that embeds the Stamp.
type build struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Image string `json:"image,omitempty"`
	} `json:"spec"`
	Status buildStatus `json:"status,omitzero"`
}

type buildStatus struct {
	status.Stamp `json:",inline"`

	Phase      string             `json:"phase,omitempty"`
	Typo       string             `json:"typo,omitempty"`
	Mode       string             `json:"mode,omitempty"`
	Verdict    *string            `json:"verdict"`
	Total      int64              `json:"total"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (b *build) DeepCopyObject() runtime.Object { return b.DeepCopy() }

func (b *build) DeepCopy() *build {
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta) //nolint:staticcheck // which of the embedded ones matters
	b.Status.DeepCopyInto(&out.Status.Stamp)
	out.Status.Conditions = slices.Clone(b.Status.Conditions)
	return &out
}

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time {
	t := metav1.NewTime(noon.Add(d))
	return &t
}
