// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/internal/e2e/rollout/oracle"
	"github.com/proompteng/controllerkit/rollout"
)

func weighed(r *rollout.Rollout, weight int32) *rollout.Rollout {
	c := *r.Spec.Strategy.Canary
	c.Steps = []rollout.Step{rollout.SetWeight(weight), rollout.PauseManual()}
	r = r.DeepCopy()
	r.Spec.Strategy.Canary = &c
	return r
}

func sameCounts(t *testing.T, o *oracle.Oracle, r *rollout.Rollout, weight int32) {
	t.Helper()
	question, err := json.Marshal(weighed(r, weight))
	require.NoError(t, err)
	want, err := o.Ask(question, true)
	require.NoError(t, err)
	require.Empty(t, want.Refused)
	canary, stable := r.Counts(weight)
	if canary != want.Canary || stable != want.Stable {
		require.Equal(t, [2]int32{want.Canary, want.Stable}, [2]int32{canary, stable}, "%d replicas, %+v at weight %d", *r.Spec.Replicas, r.Spec.Strategy.Canary, weight)
	}
}

// TestCounts_AreUpstreams: every weight, every size up to 40 pods
// and some beyond, and each kind of fences.
//
//req:shows R3
func TestCounts_AreUpstreams(t *testing.T) {
	t.Parallel()
	o := oracle.Start(t, program)
	fence := func(s string) *intstr.IntOrString { return new(intstr.Parse(s)) }
	fences := [][2]*intstr.IntOrString{
		{fence("1"), fence("0")}, {fence("0"), fence("1")}, {fence("25%"), fence("0")}, {fence("0%"), fence("25%")}, {fence("100%"), fence("100%")}, {nil, nil},
	}
	sizes := []int32{75, 99, 100, 101, 250}
	for n := range int32(41) {
		sizes = append(sizes, n)
	}
	for _, f := range fences {
		for _, n := range sizes {
			r := new(rollout.Rollout)
			r.Spec.Replicas, r.Spec.Strategy.Canary = &n, &rollout.Canary{MaxSurge: f[0], MaxUnavailable: f[1]}
			for weight := range int32(101) {
				sameCounts(t, o, r, weight)
			}
		}
	}
}

// TestCounts_WithTrafficRoutingAreUpstreams: with a router the weight is one of
// traffic.
func TestCounts_WithTrafficRoutingAreUpstreams(t *testing.T) {
	t.Parallel()
	o := oracle.Start(t, program)
	for _, most := range []int32{100, 7, 1000} {
		for _, least := range []*int32{nil, new(int32(2)), new(int32(50))} {
			for _, dynamic := range []bool{false, true} {
				for _, n := range []int32{0, 1, 2, 3, 5, 10, 33, 100} {
					r := new(rollout.Rollout)
					r.Spec.Replicas = &n
					r.Spec.Strategy.Canary = &rollout.Canary{
						TrafficRouting: map[string]any{"nginx": map[string]any{}, "maxTrafficWeight": int64(most)}, DynamicStableScale: dynamic, MinPodsPerReplicaSet: least,
					}
					for weight := int32(0); weight <= most; weight += max(most/50, 1) {
						sameCounts(t, o, r, weight)
					}
				}
			}
		}
	}
}
