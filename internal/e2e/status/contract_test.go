// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// TestContract_HoldsForEachKind: kinds of many projects, and two of this suite,
// with the schemas of their CRDs.
//
//req:shows S1 S5
func TestContract_HoldsForEachKind(t *testing.T) {
	all, err := kinds()
	require.NoError(t, err)
	require.Greater(t, len(all), 12)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name].Values) > 0 {
			t.Run(name, func(t *testing.T) { newStage(t).holdContract(t, name, all[name]) })
		}
	}
}

// holdContract reconciles one object of the kind.
func (s *stage) holdContract(t *testing.T, name string, k kind) {
	t.Helper()
	resource := resourceOf(name)
	s.object(t, resource, "a")
	sent := 0
	writer := via(func(
		ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string,
	) (*unstructured.Unstructured, error) {
		sent++
		return s.dynamic(resource).Patch(ctx, name, pt, data, opts, sub...)
	}, status.Writer{FieldNames: k.Names})
	reconcile := func(fields object, f status.Facts) (status.Result, error) {
		before := s.readLoose(t, resource)
		after := withStatus(before, fields)
		if k.Ready {
			setReady(after)
		}
		sent = 0
		return writer.Commit(t.Context(), before, after, f)
	}
	with := func(field string, value any) object {
		fields := maps.Clone(k.Also)
		if fields == nil {
			fields = object{}
		}
		fields[field] = value
		return fields
	}

	var last status.Stamp
	for i, f := range []status.Facts{{}, {Progress: status.Running}, {Progress: status.Done}} {
		fields := with(k.Field, k.Values[i])
		result, err := reconcile(fields, f)
		require.NoError(t, err)
		assert.Equal(t, status.Written, result)
		stored := s.readLoose(t, resource)
		stamp, err := statustest.Stamp(k.Names, stored)
		require.NoError(t, err)
		if k.Names.UpdatedAt == "-" {
			stamp.UpdatedAt = new(metav1.Now())
		}
		assert.Empty(t, statustest.Check(last, stamp, stored.GetGeneration()), "value %d", i)
		last = stamp
		result, err = reconcile(fields, f)
		require.NoError(t, err)
		assert.Equal(t, status.Unchanged, result, "value %d", i)
		assert.Zero(t, sent)
	}
	if k.Zero != nil {
		_, err := reconcile(k.Zero, status.Facts{Progress: status.Done})
		require.NoError(t, err, "a required field that is zero")
	}
	if k.KeepsAll {
		return
	}
	lost := with("undeclared", "x")
	_, err := reconcile(lost, status.Facts{Progress: status.Done})
	require.ErrorContains(t, err, "did not keep status.undeclared")
	result, err := reconcile(lost, status.Facts{Progress: status.Done})
	require.NoError(t, err, "no hot loop")
	assert.Equal(t, status.Unchanged, result)

	var wrong any = object{"wrong": true}
	_, isObject := k.Values[0].(object)
	if isObject {
		wrong = "wrong"
	}
	_, err = reconcile(with(k.Field, wrong), status.Facts{Progress: status.Done})
	var refused interface{ Reason() string }
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "StatusRefused", refused.Reason())
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
