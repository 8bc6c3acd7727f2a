// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kstatus_test compares package status with sigs.k8s.io/cli-utils'
// kstatus, with which kubectl wrappers, Flux and Argo CD decide whether an
// object is ready. It needs no cluster.
//
// Only this suite proves that they agree on every status that the package
// writes.
//
// The suite needs Linux.
package kstatus_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/proompteng/controllerkit/status"
)

// run is a kind with the contract.
type run struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status runStatus `json:"status,omitzero"`
}

type runStatus struct {
	status.Stamp `json:",inline"`

	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (r *run) DeepCopy() *run {
	out := *r
	out.ObjectMeta = *r.ObjectMeta.DeepCopy()
	r.Status.DeepCopyInto(&out.Status)
	return &out
}

func (s *runStatus) DeepCopyInto(out *runStatus) {
	s.Stamp.DeepCopyInto(&out.Stamp)
	out.Conditions = slices.Clone(s.Conditions)
}

func (r *run) DeepCopyObject() runtime.Object { return r.DeepCopy() }

// newRun returns a new run with the first generation, as the API server sets
// it.
func newRun() *run {
	return &run{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Run"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid", ResourceVersion: "1", Generation: 1},
	}
}

// respec changes the spec, for which the API server increments the generation.
func (r *run) respec() { r.Generation++ }

// remove deletes a run with a finalizer.
func (r *run) remove() { r.DeletionTimestamp = new(metav1.Now()) }

// owned are the conditions that kstatus reads. One controller owns all of them.
var owned = status.Writer{Owned: []string{"Ready", "Reconciling", "Stalled"}}

// is returns a condition.
func is(typ string, verdict metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: typ, Status: verdict, Reason: "Because"}
}

// reconcile writes exactly these conditions of a run, by the package's patch.
func (r *run) reconcile(t *testing.T, f status.Facts, group ...metav1.Condition) {
	t.Helper()
	before := r.DeepCopy()
	now := time.Now()
	owned.SetConditions(&r.Status.Conditions, now, group...)
	_, err := status.Patch(before, r, f, now)
	require.NoError(t, err)
}

// verdict returns the result of kstatus for an object as a client reads it.
func verdict(t *testing.T, o any) kstatus.Status {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	require.NoError(t, err)
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: m})
	require.NoError(t, err)
	return result.Status
}
