// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// TestContract_HoldsForEachKind: kinds of many projects, and two of this suite,
// whose CRDs are in crds_test.go, keep each rule of the contract.
//
//req:shows S5
func TestContract_HoldsForEachKind(t *testing.T) {
	kinds := foreigns()
	kinds["task"] = foreign{field: "phase", values: numbered, names: taskNames}
	kinds["void"] = foreign{
		field: "phase", values: numbered, names: status.FieldNames{Conditions: "-"},
		also: object{"verdict": "known"}, nullable: "verdict",
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(name, func(t *testing.T) {
			statustest.Run(t, newStage(t).kindOf(name, kinds[name]))
		})
	}
}

// kindOf returns a kind of unstructured objects for statustest.
func (s *stage) kindOf(name string, f foreign) statustest.Kind[*unstructured.Unstructured] {
	r := f.resource(name)
	theirs := s.theirs.dynamic(r)
	writer := via(s.ours.dynamic(r).Patch, status.Writer{FieldNames: f.names})
	var created atomic.Int64
	k := statustest.Kind[*unstructured.Unstructured]{
		Writer: writer,
		Create: func(t *testing.T) *unstructured.Unstructured {
			t.Helper()
			return s.object(t, r, "a"+strconv.FormatInt(created.Add(1), 10))
		},
		Get: func(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return theirs.Get(ctx, u.GetName(), metav1.GetOptions{})
		},
		Patch: func(ctx context.Context, o status.Object, subresource string, data []byte) error {
			_, err := theirs.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, subresource)
			return err
		},
		Set: func(u *unstructured.Unstructured, n int) {
			fields := maps.Clone(f.also)
			if fields == nil {
				fields = object{}
			}
			fields[f.field] = f.values[n-1]
			setStatus(u, fields)
			if f.hasReady() {
				setReady(u)
			}
		},
		Spec:     `{"image":"other"}`,
		NoSchema: "this schema has no such field",
	}
	if !f.keepsAll() {
		k.Pruned = func(u *unstructured.Unstructured) { setStatus(u, object{"undeclared": "x"}) }
	}
	if f.defaulted != "" {
		k.Defaulted = func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "status", f.defaulted) }
	}
	if f.nullable != "" {
		k.Nullable = func(u *unstructured.Unstructured) { setStatus(u, object{f.nullable: nil}) }
	}
	if !f.keepsAll() {
		var wrong any = object{"wrong": true}
		_, isObject := f.values[0].(object)
		if isObject {
			wrong = "wrong"
		}
		k.Refused = func(u *unstructured.Unstructured) { setStatus(u, object{f.field: wrong}) }
	}
	if f.zero != nil {
		k.Required = func(u *unstructured.Unstructured) { setStatus(u, f.zero) }
	}
	return k
}

// setStatus sets fields of the status.
func setStatus(u *unstructured.Unstructured, fields object) {
	u.Object["status"] = withStatus(u, (&unstructured.Unstructured{Object: fields}).DeepCopy().Object).Object["status"]
}

// setReady sets a condition, and leaves other conditions.
func setReady(u *unstructured.Unstructured) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	list = slices.DeleteFunc(list, func(c any) bool { return c.(object)["type"] == "Ready" })
	list = append(list, object{"type": "Ready", "status": "True", "reason": "Ok", "message": "as it should be"})
	setStatus(u, object{"conditions": list})
}

// TestContract_HoldsForATypedKind: AgentRuns, by their typed client.
//
//req:shows S1
func TestContract_HoldsForATypedKind(t *testing.T) {
	s := newStage(t)
	var created atomic.Int64
	statustest.Run(t, statustest.Kind[*v1alpha1.AgentRun]{
		Writer: via(s.ours.runs.Patch, status.Writer{Owned: []string{"Ready"}}),
		Create: func(t *testing.T) *v1alpha1.AgentRun {
			t.Helper()
			return s.create(t, "a"+strconv.FormatInt(created.Add(1), 10))
		},
		Get: func(ctx context.Context, run *v1alpha1.AgentRun) (*v1alpha1.AgentRun, error) {
			return s.theirs.runs.Get(ctx, run.Name, metav1.GetOptions{})
		},
		Patch: func(ctx context.Context, o status.Object, subresource string, data []byte) error {
			_, err := s.theirs.runs.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, subresource)
			return err
		},
		Set:      func(run *v1alpha1.AgentRun, n int) { run.Status.Reason = strconv.Itoa(n) },
		Spec:     `{"image":"other"}`,
		Refused:  func(run *v1alpha1.AgentRun) { run.Status.Reason = strings.Repeat("x", 2<<20) },
		NoSchema: "the Go type and the CRD have the same fields, and none is required or has a default",
	})
}
