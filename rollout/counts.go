// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Counts returns how many pods of the new and of the old version the controller
// wants at a weight, in percent or in parts of maxTrafficWeight. It does not
// check the weight. It is upstream's arithmetic (utils/replicaset/canary.go).
// The two may sum to one more than replicas where maxSurge allows it. Replicas
// that are not set count as 1, as they do for the controller. A nil Rollout and
// one without a canary give 0, 0.
//
// With trafficRouting the weight is one of traffic: the old version keeps all
// its pods, unless dynamicStableScale is set.
func (r *Rollout) Counts(weight int32) (canary, stable int32) {
	if r == nil || r.Spec.Strategy.Canary == nil {
		return 0, 0
	}
	c, replicas := r.Spec.Strategy.Canary, r.replicas()
	if c.TrafficRouting != nil {
		return c.routedCounts(replicas, weight)
	}
	return closest(replicas, weight, c.surges())
}

func (r *Rollout) replicas() int32 {
	if r.Spec.Replicas == nil {
		return 1
	}
	return *r.Spec.Replicas
}

// closest is the split of the replicas that comes nearest to the weight, the
// first of equals. With two pods or more, surge included, a weight that is
// neither 0 nor 100 gives the new version at least one.
//
// Upstream tries one more split, rounded down among one pod more. It is never
// the nearest: that many of the replicas are nearer, and where those are not
// tried because of a tie, one more of one pod more is.
func closest(replicas, weight int32, surge bool) (canary, stable int32) {
	if replicas == 0 {
		return 0, 0
	}
	n := int64(replicas)
	exact := float64(n*int64(weight)) / 100
	up, down := int64(math.Ceil(exact)), int64(math.Floor(exact))
	alone := n == 1 && !surge

	bestCanary, bestTotal, best := int64(0), n, math.Inf(1)
	try := func(canary, total int64) {
		if off := math.Abs(float64(canary*100)/float64(total) - float64(weight)); off < best {
			bestCanary, bestTotal, best = canary, total, off
		}
	}
	if up < n || alone {
		try(up, n)
	}
	if !tied(n, weight) && (down != 0 || alone) {
		try(down, n)
	}
	if surge {
		try(up, n+1)
	}
	return int32(bestCanary), int32(bestTotal - bestCanary)
}

// tied: a weight exactly between two counts takes the greater. The order of the
// operations is upstream's, and matters.
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

// surges reports whether maxSurge is at least one pod. If either of the two
// fields cannot be read, neither counts.
func (c *Canary) surges() bool {
	surge, ok := size(c.MaxSurge)
	_, also := size(c.MaxUnavailable)
	return ok && also && surge > 0
}

// size reads maxSurge or maxUnavailable as the controller does, pods or a
// percentage: 25 if unset, and a string with the sign or without.
func size(v *intstr.IntOrString) (int, bool) {
	switch {
	case v == nil:
		return 25, true
	case v.Type == intstr.Int:
		return int(v.IntVal), true
	}
	percent, err := strconv.Atoi(strings.ReplaceAll(v.StrVal, "%", ""))
	return percent, err == nil
}
