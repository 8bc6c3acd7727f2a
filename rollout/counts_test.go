// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
)

// sized is a Rollout of so many pods and fences.
func sized(replicas int32, surge, unavailable string) *rollout.Rollout {
	r := new(rollout.Rollout)
	r.Spec.Replicas = &replicas
	r.Spec.Strategy.Canary = &rollout.Canary{MaxSurge: ptr.To(intOrString(surge)), MaxUnavailable: ptr.To(intOrString(unavailable))}
	return r
}

func stringFences(replicas int32, surge, unavailable string) *rollout.Rollout {
	r := sized(replicas, "0", "0")
	r.Spec.Strategy.Canary.MaxSurge, r.Spec.Strategy.Canary.MaxUnavailable = ptr.To(intstr.FromString(surge)), ptr.To(intstr.FromString(unavailable))
	return r
}

// The expected counts are upstream's, of CalculateReplicaCountsForBasicCanary
// in its fixed point.
//
//req:shows R3
func TestCounts(t *testing.T) {
	cases := map[string]struct {
		reason         string
		r              *rollout.Rollout
		weight         int32
		canary, stable int32
	}{
		"TheSafeCanary":          {"One of five is exactly 20%.", sized(5, "1", "0"), 20, 1, 4},
		"OneReplicaWithSurge":    {"1+1: maxSurge makes even one replica right.", sized(1, "1", "0"), 20, 1, 1},
		"OneReplicaWithoutSurge": {"Nothing would be tested.", sized(1, "0", "1"), 20, 0, 1},
		"OneReplicaAtHalf":       {"Nothing old would be left: of a tie the new version gets the pod.", sized(1, "0", "1"), 50, 1, 0},
		"TwoReplicasAtTwenty":    {"Never 0 where there are two pods.", sized(2, "0", "1"), 20, 1, 1},
		"TwoReplicasNearlyAll":   {"One of two stays for a weight below 100.", sized(2, "0", "1"), 99, 1, 1},
		"SurgeComesCloser":       {"1 of 4 is nearer to 25% than 1 of 3.", sized(3, "1", "0"), 25, 1, 3},
		"SurgeIsNotNeeded":       {"1 of 10 is exactly 10%.", sized(10, "1", "0"), 10, 1, 9},
		"ATieGoesUp":             {"1 or 2 of 3 at 50%.", sized(3, "0", "1"), 50, 2, 1},
		"Zero":                   {"A weight of 0 runs no new pods.", sized(5, "1", "0"), 0, 0, 5},
		"All":                    {"A weight of 100 runs no old pods.", sized(5, "1", "0"), 100, 5, 0},
		"ScaledToZero":           {"No pods at all.", sized(0, "1", "0"), 50, 0, 0},
		"SurgeAsPercentRoundsUp": {"1% of 3 is one pod.", sized(3, "1%", "0"), 25, 1, 3},
		"NoSurgeInPercent":       {"0% of any number is none.", sized(3, "0%", "1"), 25, 1, 2},
		"SurgeAsTextOfANumber":   {"Upstream reads it as a percentage without its sign.", stringFences(3, "1", "0"), 25, 1, 3},
		"SurgeThatCannotBeRead":  {"Upstream counts it as 0.", sized(3, "abc", "1"), 25, 1, 2},
		"OneFenceSpoilsBoth":     {"Upstream then counts both as 0.", sized(3, "1", "abc"), 25, 1, 2},
		"FencesNotSet":           {"They are 25%, so maxSurge is one pod.", read(t, `{"spec":{"replicas":3,"strategy":{"canary":{}}}}`), 25, 1, 3},
		"UpstreamFindsNoCount":   {"Neither 1 (a tie) nor 2 (all) of 2 will do, so it is none.", sized(2, "0", "1"), 75, 0, 2},
		"NoCanary":               {"Without a canary both counts are 0.", new(rollout.Rollout), 20, 0, 0},
		"Nil":                    {"A nil Rollout has no pods.", nil, 20, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			canary, stable := tc.r.Counts(tc.weight)
			assert.Equal(t, [2]int32{tc.canary, tc.stable}, [2]int32{canary, stable}, tc.reason)
		})
	}
}

func TestCounts_WithTrafficRouting(t *testing.T) {
	r := sized(10, "1", "0")
	c := r.Spec.Strategy.Canary
	c.TrafficRouting = map[string]any{"nginx": map[string]any{}}

	canary, stable := r.Counts(25)
	assert.Equal(t, [2]int32{3, 10}, [2]int32{canary, stable}, "the old version keeps all its pods")

	c.DynamicStableScale = true
	canary, stable = r.Counts(25)
	assert.Equal(t, [2]int32{3, 8}, [2]int32{canary, stable}, "both round up")

	c.MinPodsPerReplicaSet = ptr.To[int32](4)
	canary, stable = r.Counts(25)
	assert.Equal(t, [2]int32{4, 8}, [2]int32{canary, stable}, "at least so many")

	canary, _ = r.Counts(0)
	assert.Zero(t, canary, "none stays none")

	for _, most := range []any{int64(1000), int32(1000), 1000, float64(1000)} {
		c.TrafficRouting["maxTrafficWeight"] = most
		canary, _ = r.Counts(900)
		assert.Equal(t, int32(9), canary, "%T", most)
	}
}

// What a person must never be asked: to judge a canary that has no pod, or has
// replaced everything.
func TestWarnings_PauseWithoutACanaryPod(t *testing.T) {
	cases := map[string]struct {
		reason      string
		replicas    *int32
		surge       string
		unavailable string
		weight      int32
		want        []string
	}{
		"OneReplicaNoSurge":      {"0 new pods.", ptr.To[int32](1), "0", "1", 20, []string{"spec.strategy.canary.steps[1].pause"}},
		"OneReplicaNoSurgeHalf":  {"0 old pods.", ptr.To[int32](1), "0", "1", 50, []string{"spec.strategy.canary.steps[1].pause"}},
		"OneReplicaSurge":        {"1 of each.", ptr.To[int32](1), "1", "0", 20, []string{}},
		"TwoReplicasNoSurge":     {"1 of each.", ptr.To[int32](2), "0", "1", 20, []string{}},
		"UpstreamFindsNoCount":   {"0 new pods at weight 90.", ptr.To[int32](5), "0", "1", 90, []string{"spec.strategy.canary.steps[1].pause"}},
		"UnsetReplicasNoSurge":   {"An autoscaler says how many.", nil, "0", "1", 20, []string{}},
		"ScaledToZero":           {"There is nothing to judge anyway.", ptr.To[int32](0), "1", "0", 20, []string{}},
		"FenceThatCannotBeRead":  {"It is one error, at its own path.", ptr.To[int32](1), "x", "1", 20, []string{"spec.strategy.canary.maxSurge"}},
		"WeightThatIsOutOfRange": {"It is one error, at its own path.", ptr.To[int32](1), "0", "1", 0, []string{"spec.strategy.canary.steps[0].setWeight"}},
	}
	pausing := canary(t)
	pausing.Spec.Strategy.Canary.Steps = []rollout.Step{rollout.PauseManual()}
	assert.Contains(t, pausing.Warnings()[0].Detail, "setWeight", "the remedy")
	assert.Empty(t, (*rollout.Rollout)(nil).Warnings())
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := canary(t)
			r.Spec.Replicas = tc.replicas
			r.Spec.Strategy.Canary.MaxSurge = ptr.To(intOrString(tc.surge))
			r.Spec.Strategy.Canary.MaxUnavailable = ptr.To(intOrString(tc.unavailable))
			r.Spec.Strategy.Canary.Steps = []rollout.Step{rollout.SetWeight(tc.weight), rollout.PauseManual()}
			_, errs := rollout.Convert(web(), rollout.Options{Mutate: func(out *rollout.Rollout) { *out = *r }})
			assert.Equal(t, tc.want, append([]string{}, paths(errs)...), tc.reason)
		})
	}
}
