// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream_test compares package rollout with the code of Argo
// Rollouts. It needs no control plane.
//
// Only this suite proves that the validation and the numbers of pods are
// upstream's, for random Rollouts.
//
// The suite needs Linux.
package upstream_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/rollout"
)

// sameCounts compares the pods at each weight up to the greatest.
func sameCounts(t *testing.T, canaries []rollout.Canary, sizes []int32, most, stride int32) {
	t.Helper()
	var asked []question
	var ours []verdict
	for _, c := range canaries {
		for _, n := range sizes {
			for weight := int32(0); weight <= most; weight += stride {
				r := new(rollout.Rollout)
				c.Steps = []rollout.Step{rollout.SetWeight(weight), rollout.PauseManual()}
				r.Spec.Replicas, r.Spec.Strategy.Canary = &n, &c
				manifest, err := json.Marshal(r)
				require.NoError(t, err)
				canary, stable := r.Counts(weight)
				asked = append(asked, question{Rollout: manifest, Settle: true})
				ours = append(ours, verdict{Canary: canary, Stable: stable})
			}
		}
	}
	for i, theirs := range ask(t, asked) {
		require.Equal(t, theirs, ours[i], "%s", asked[i].Rollout)
	}
}

// TestCounts_AreUpstreams: every weight, every size up to 40 pods and some
// beyond, and each kind of fences.
//
//req:shows R3
func TestCounts_AreUpstreams(t *testing.T) {
	t.Parallel()
	fence := func(s string) *intstr.IntOrString { return new(intstr.Parse(s)) }
	canaries := []rollout.Canary{
		{MaxSurge: fence("1"), MaxUnavailable: fence("0")},
		{MaxSurge: fence("0"), MaxUnavailable: fence("1")},
		{MaxSurge: fence("25%"), MaxUnavailable: fence("0")},
		{MaxSurge: fence("0%"), MaxUnavailable: fence("25%")},
		{MaxSurge: fence("100%"), MaxUnavailable: fence("100%")},
		{},
	}
	sizes := []int32{75, 99, 100, 101, 250}
	for n := range int32(41) {
		sizes = append(sizes, n)
	}
	sameCounts(t, canaries, sizes, 100, 1)
}

// TestCounts_WithTrafficRoutingAreUpstreams: with a router the weight is one of
// traffic.
func TestCounts_WithTrafficRoutingAreUpstreams(t *testing.T) {
	t.Parallel()
	for _, most := range []int32{100, 7, 1000} {
		var canaries []rollout.Canary
		routing := map[string]any{"nginx": map[string]any{}, "maxTrafficWeight": int64(most)}
		for _, least := range []*int32{nil, new(int32(2)), new(int32(50))} {
			canaries = append(canaries,
				rollout.Canary{TrafficRouting: routing, MinPodsPerReplicaSet: least},
				rollout.Canary{TrafficRouting: routing, MinPodsPerReplicaSet: least, DynamicStableScale: true})
		}
		sameCounts(t, canaries, []int32{0, 1, 2, 3, 5, 10, 33, 100}, most, max(most/50, 1))
	}
}
