// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/proompteng/controllerkit/rollout"
)

func bothRun(t *testing.T, r *rollout.Rollout) {
	t.Helper()
	c := r.Spec.Strategy.Canary
	if c == nil || c.TrafficRouting != nil || r.Spec.Replicas != nil && *r.Spec.Replicas == 0 {
		return
	}
	weight := int32(0)
	for _, s := range c.Steps {
		if s.SetWeight != nil {
			weight = *s.SetWeight
		}
		if s.Pause != nil {
			canary, stable := r.Counts(weight)
			assert.Positive(t, canary)
			assert.Positive(t, stable)
		}
	}
}

// FuzzConvert: for any Deployment, Convert returns and leaves it alone;
// what it makes is valid, and has all of the Deployment that is not its
// strategy, its status or a server's.
func FuzzConvert(f *testing.F) {
	for _, d := range []*appsv1.Deployment{web(), agents(), {}} {
		data, err := json.Marshal(d)
		require.NoError(f, err)
		f.Add(data, int32(20), int64(10*time.Minute), true)
		f.Add(data, int32(-1), int64(-1), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, weight int32, pause int64, omit bool) {
		var d appsv1.Deployment
		if json.Unmarshal(data, &d) != nil {
			return
		}
		before := d.DeepCopy()
		steps := []rollout.Step{rollout.SetWeight(weight), rollout.PauseFor(time.Duration(pause))}
		r, errs := rollout.Convert(&d, rollout.Options{Steps: steps, OmitReplicas: omit})
		require.Equal(t, before, &d)
		require.Equal(t, r == nil, len(errs) > 0)
		if r == nil {
			return
		}
		require.Empty(t, r.Warnings())
		bothRun(t, r)
		assert.Equal(t, r, r.DeepCopy())

		got := asMap(t, r.Spec)
		delete(got, "strategy")
		assert.Equal(t, carried(t, d.Spec, omit), got)
		assert.Equal(t, d.Name, r.Name)
		assert.Equal(t, d.Namespace, r.Namespace)
		assert.Len(t, r.Labels, len(d.Labels))
	})
}

// carried is the part of a Deployment's spec that its Rollout has as it is.
func carried(t *testing.T, spec appsv1.DeploymentSpec, omitReplicas bool) map[string]any {
	t.Helper()
	m := asMap(t, spec)
	delete(m, "strategy")
	if omitReplicas {
		delete(m, "replicas")
	}
	meta, _ := m["template"].(map[string]any)["metadata"].(map[string]any)
	maps.DeleteFunc(meta, func(key string, _ any) bool { return key != "labels" && key != "annotations" })
	return m
}

// FuzzAnyStruct: what Go code can build, and no decoder would, panics nowhere
// either.
func FuzzAnyStruct(f *testing.F) {
	for seed := range int64(50) {
		f.Add(seed, int32(seed*7-50))
	}
	f.Fuzz(func(t *testing.T, seed int64, weight int32) {
		r, rnd := new(rollout.Rollout), rand.New(rand.NewSource(seed))
		randomise(reflect.ValueOf(r).Elem(), rnd, 0)
		r.Counts(weight)
		assert.Equal(t, paths(r.Warnings()), paths(r.DeepCopy().Warnings()), "a copy is as good, and problems have an order")
		rollout.PhaseOf(r, int64(weight))
		for _, patch := range [][]byte{
			rollout.PromotePatch(r, false), rollout.PromotePatch(r, true), rollout.AbortPatch(r), rollout.RetryPatch(r),
		} {
			assert.True(t, patch == nil || json.Valid(patch))
		}

		var d appsv1.Deployment
		randomise(reflect.ValueOf(&d).Elem(), rnd, 0)
		_, _ = rollout.Convert(&d, rollout.Options{Steps: steps(r)})
	})
}

func steps(r *rollout.Rollout) []rollout.Step {
	if c := r.Spec.Strategy.Canary; c != nil {
		return c.Steps
	}
	return nil
}

// randomise sets about half of the fields, to small and to odd values.
func randomise(v reflect.Value, rnd *rand.Rand, depth int) {
	if !v.CanSet() || depth > 9 || rnd.Intn(3) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "web", "app", "1", "20%", "-1", "a b", "10m", "apps/v1", "Deployment", "never", "Exists", "\xff"}[rnd.Intn(13)])
	case reflect.Bool:
		v.SetBool(rnd.Intn(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt([]int64{0, 1, 5, 20, 100, -1, math.MaxInt32, math.MinInt32}[rnd.Intn(8)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		randomise(v.Elem(), rnd, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rnd.Intn(4), 4))
		for i := range v.Len() {
			randomise(v.Index(i), rnd, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rnd.Intn(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			randomise(key, rnd, depth)
			randomise(value, rnd, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf([]any{
				nil, "x", 1, int64(1), 1.5, true, []any{nil}, map[string]any{"name": "x", "weight": 5}, map[string]any(nil), make(chan int), []string{"x"}, math.NaN(),
			}[1+rnd.Intn(11)]))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			randomise(v.Field(i), rnd, depth+1)
		}
	default:
	}
}
