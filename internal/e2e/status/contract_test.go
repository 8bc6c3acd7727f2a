// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// TestContract_HoldsForEachKind: kinds of many projects, and two of this suite,
// keep each rule of the contract.
//
//req:shows S1 S5
func TestContract_HoldsForEachKind(t *testing.T) {
	all, err := kinds()
	require.NoError(t, err)
	require.Greater(t, len(all), 12)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name].Values) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			statustest.Run(t, newStage(t).kindOf(name, all[name]))
		})
	}
}

// kindOf returns a kind of unstructured objects for statustest.
func (s *stage) kindOf(name string, f kind) statustest.Kind[*unstructured.Unstructured] {
	r := resourceOf(name)
	client := s.dynamic(r)
	writer := via(client.Patch, status.Writer{FieldNames: f.Names})
	var created atomic.Int64
	k := statustest.Kind[*unstructured.Unstructured]{
		Writer: writer,
		Create: func(t *testing.T) *unstructured.Unstructured {
			t.Helper()
			return s.object(t, r, "a"+strconv.FormatInt(created.Add(1), 10))
		},
		Get: func(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return client.Get(ctx, u.GetName(), metav1.GetOptions{})
		},
		Patch: func(ctx context.Context, o status.Object, subresource string, data []byte) error {
			_, err := client.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, subresource)
			return err
		},
		Set: func(u *unstructured.Unstructured, n int) {
			fields := maps.Clone(f.Also)
			if fields == nil {
				fields = object{}
			}
			fields[f.Field] = f.Values[n-1]
			setStatus(u, fields)
			if f.Ready {
				setReady(u)
			}
		},
		Spec:     `{"image":"other"}`,
		NoSchema: "this schema has no such field",
	}
	if f.Defaulted != "" {
		k.Defaulted = func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "status", f.Defaulted) }
	}
	if f.Nullable != "" {
		k.Nullable = func(u *unstructured.Unstructured) { setStatus(u, object{f.Nullable: nil}) }
	}
	if !f.KeepsAll {
		k.Pruned = func(u *unstructured.Unstructured) { setStatus(u, object{"undeclared": "x"}) }
		var wrong any = object{"wrong": true}
		_, isObject := f.Values[0].(object)
		if isObject {
			wrong = "wrong"
		}
		k.Refused = func(u *unstructured.Unstructured) { setStatus(u, object{f.Field: wrong}) }
	}
	if f.Zero != nil {
		k.Required = func(u *unstructured.Unstructured) { setStatus(u, f.Zero) }
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
