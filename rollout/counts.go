// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Counts is how many pods of the new and of the old version the controller aims at for a weight, by its own arithmetic
// (upstream: utils/replicaset/canary.go). The two may sum to one more than replicas where maxSurge allows it. Replicas
// that are not set count as 1, as they do for the controller. A nil Rollout and one without a canary give 0, 0.
//
// With trafficRouting the weight is one of traffic: the old version keeps all its pods, unless dynamicStableScale is set.
func (r *Rollout) Counts(weight int32) (canary, stable int32) {
	if r == nil || r.Spec.Strategy.Canary == nil {
		return 0, 0
	}
	c, replicas := r.Spec.Strategy.Canary, r.replicas()
	if c.TrafficRouting != nil {
		return c.routedCounts(replicas, weight)
	}
	return closest(replicas, weight, c.surge(replicas) > 0)
}

func (r *Rollout) replicas() int32 {
	if r.Spec.Replicas == nil {
		return 1
	}
	return *r.Spec.Replicas
}

// closest is the split of the replicas that comes nearest to the weight, the first of equals. With two pods or more,
// surge included, a weight that is neither 0 nor 100 gives the new version at least one.
func closest(replicas, weight int32, surge bool) (canary, stable int32) {
	if replicas == 0 {
		return 0, 0
	}
	n := int64(replicas)
	exact := float64(n*int64(weight)) / 100
	up, down := int64(math.Ceil(exact)), int64(math.Floor(exact))
	zero := weight == 100 || weight == 0 || (n == 1 && !surge)

	bestCanary, bestTotal, best := int64(0), n, math.Inf(1)
	try := func(canary, total int64) {
		if off := math.Abs(float64(canary*100)/float64(total) - float64(weight)); off < best {
			bestCanary, bestTotal, best = canary, total, off
		}
	}
	if up < n || zero {
		try(up, n)
	}
	if !tied(n, weight) && (down != 0 || zero) {
		try(down, n)
	}
	if surge {
		try(up, n+1)
		if !tied(n+1, weight) && (down != 0 || zero) {
			try(down, n+1)
		}
	}
	return int32(bestCanary), int32(bestTotal - bestCanary)
}

// tied: a weight exactly between two counts takes the greater. The order of the operations is upstream's, and matters.
func tied(total int64, weight int32) bool {
	_, frac := math.Modf(float64(total) * (float64(weight) / 100))
	return frac == 0.5
}

func (c *Canary) routedCounts(replicas, weight int32) (canary, stable int32) {
	most := c.maxWeight()
	atLeast := func(n int32) int32 {
		if n == 0 || c.MinPodsPerReplicaSet == nil {
			return n
		}
		return max(n, min(*c.MinPodsPerReplicaSet, replicas))
	}
	share := func(w int32) int32 {
		return atLeast(int32(math.Ceil(float64(w) * float64(replicas) / float64(most))))
	}
	if !c.DynamicStableScale {
		return share(weight), replicas
	}
	return share(weight), share(most - weight)
}

// surge is what maxSurge comes to: as a percentage rounded up, 0 if it cannot be read.
func (c *Canary) surge(replicas int32) int32 {
	n, ok := resolve(c.MaxSurge, replicas, math.Ceil)
	if _, other := resolve(c.MaxUnavailable, replicas, math.Floor); !ok || !other {
		return 0
	}
	return n
}

// resolve reads a fence as the controller does: 25 if unset, and a string as a percentage with its sign or without.
func resolve(v *intstr.IntOrString, replicas int32, round func(float64) float64) (int32, bool) {
	percent := 25
	if v != nil {
		if v.Type == intstr.Int {
			return v.IntVal, true
		}
		var err error
		if percent, err = strconv.Atoi(strings.ReplaceAll(v.StrVal, "%", "")); err != nil {
			return 0, false
		}
	}
	return int32(round(float64(percent) * float64(replicas) / 100)), true
}
