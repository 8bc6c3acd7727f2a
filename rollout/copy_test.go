// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/rollout"
)

func TestDeepCopy_CopiesEveryField(t *testing.T) {
	r := new(rollout.Rollout)
	fill(reflect.ValueOf(r).Elem(), 0)
	got := r.DeepCopy()
	assert.Equal(t, r, got)
	notShared(t, "rollout", reflect.ValueOf(r), reflect.ValueOf(got))

	obj := r.DeepCopyObject()
	assert.Equal(t, r, obj)
	assert.Nil(t, (*rollout.Rollout)(nil).DeepCopy())
	assert.Equal(t, runtime.Object(nil), (*rollout.Rollout)(nil).DeepCopyObject(), "not a nil pointer in an interface")
}

// TestRollout_KeepsEveryFieldInUnstructured, as dynamic clients take it.
func TestRollout_KeepsEveryFieldInUnstructured(t *testing.T) {
	r := new(rollout.Rollout)
	fill(reflect.ValueOf(r).Elem(), 0)
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	require.NoError(t, err)
	assert.Equal(t, asMap(t, r), asMap(t, tree))
}

func TestDeepCopy_OfOtherTypes(t *testing.T) {
	r := new(rollout.Rollout)
	r.Spec.Analysis = map[string]any{
		"strings": []string{"a"}, "map": map[string]string{"a": "b"}, "nil": nil, "list": []any(nil), "chan": make(chan int),
	}
	got := r.DeepCopy().Spec.Analysis
	assert.Equal(t, []any{"a"}, got["strings"])
	assert.Equal(t, map[string]any{"a": "b"}, got["map"])
	assert.Nil(t, got["nil"])
	assert.Equal(t, r.Spec.Analysis["chan"], got["chan"], "refused where it is marshalled")
}

// fill sets every field that can be set, a few levels down.
func fill(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 12 {
		return
	}
	if v.Type() == reflect.TypeFor[metav1.Time]() {
		v.Set(reflect.ValueOf(metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local))))
		return
	}
	if v.Type() == reflect.TypeFor[metav1.FieldsV1]() {
		_ = v.Addr().Interface().(*metav1.FieldsV1).UnmarshalJSON([]byte("{}")) // never fails
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		if v.Type().Elem().Kind() == reflect.Interface {
			value.Set(reflect.ValueOf(map[string]any{"list": []any{"x", int64(1), 1.5, true, nil}}))
		} else {
			fill(value, depth+1)
		}
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString("key")
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	default:
	}
}

// notShared fails if any pointer, map or slice of a is one of b.
func notShared(t *testing.T, name string, a, b reflect.Value) {
	t.Helper()
	of := map[uintptr]string{}
	walk(a, name, func(p uintptr, path string) { of[p] = path })
	walk(b, "result", func(p uintptr, path string) {
		if from, ok := of[p]; ok {
			assert.Fail(t, "shared memory", "%s is %s", path, from)
		}
	})
}

// walk visits each pointer, map and slice that v leads to.
func walk(v reflect.Value, path string, visit func(uintptr, string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*time.Location]() {
			return
		}
		if v.Type().Elem().Size() > 0 {
			visit(v.Pointer(), path)
		}
	case reflect.Slice, reflect.Map:
		if v.Len() > 0 {
			visit(v.Pointer(), path)
		}
	default:
	}
	for name, part := range parts(v) {
		walk(part, path+name, visit)
	}
}

// parts returns the values that v holds or points to, by their names.
func parts(v reflect.Value) map[string]reflect.Value {
	all := map[string]reflect.Value{}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		all[""] = v.Elem()
	case reflect.Slice:
		for i := range v.Len() {
			all[fmt.Sprintf("[%d]", i)] = v.Index(i)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			all[fmt.Sprintf("[%v]", key)] = v.MapIndex(key)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			all["."+v.Type().Field(i).Name] = v.Field(i)
		}
	default:
	}
	return all
}
