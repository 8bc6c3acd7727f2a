// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

// Check returns an error for each rule of the contract that the change from
// before to after breaks, and nil if it breaks none. liveGeneration is the
// generation of the object that after was read from. Times are compared in
// whole seconds. Check accepts an updatedAt that stays or goes back, because
// two writes may be in one second and clocks differ. For a kind without
// updatedAt, set it to any time in both stamps.
//
// set has the conditions of after that the reconcile sets each time. Each must
// carry after's observedGeneration, or for a kind without one a generation:
// kubectl wait ignores a condition of an older one.
func Check(before, after status.Stamp, liveGeneration int64, set ...metav1.Condition) []error {
	var broken []error
	breach := func(format string, args ...any) {
		broken = append(broken, fmt.Errorf("status/statustest: "+format, args...))
	}
	if after.ObservedGeneration < before.ObservedGeneration {
		breach("observedGeneration went back from %d to %d",
			before.ObservedGeneration, after.ObservedGeneration)
	}
	if after.ObservedGeneration > liveGeneration {
		breach("observedGeneration is %d, ahead of generation %d", after.ObservedGeneration, liveGeneration)
	}
	hasMoved := after.ObservedGeneration != before.ObservedGeneration
	for _, f := range []struct {
		name    string
		was, is *metav1.Time
	}{
		{"startedAt", before.StartedAt, after.StartedAt},
		{"finishedAt", before.FinishedAt, after.FinishedAt},
	} {
		was := show(f.was)
		is := show(f.is)
		if was == is {
			continue
		}
		hasMoved = true
		if was != unset {
			breach("%s moved from %s to %s", f.name, was, is)
		}
	}
	hasBoth := !after.StartedAt.IsZero() && !after.FinishedAt.IsZero()
	if hasBoth && after.FinishedAt.Unix() < after.StartedAt.Unix() {
		breach("finishedAt %s is before startedAt %s", show(after.FinishedAt), show(after.StartedAt))
	}
	wasWritten := hasMoved || !before.UpdatedAt.IsZero()
	if wasWritten && after.UpdatedAt.IsZero() {
		breach("updatedAt is not set after a write")
	}
	return append(broken, checkConditions(set, after.ObservedGeneration, liveGeneration)...)
}

func checkConditions(set []metav1.Condition, observed, live int64) []error {
	var broken []error
	for _, c := range set {
		if !isGeneration(c.ObservedGeneration, observed, live) {
			broken = append(broken, fmt.Errorf("status/statustest: the condition %s carries the generation "+
				"%d; want that of the spec that was read", c.Type, c.ObservedGeneration))
		}
	}
	return broken
}

// isGeneration reports whether a condition may carry the generation. Without an
// observed one, it may be any up to the live one: the spec may have changed.
func isGeneration(generation, observed, live int64) bool {
	if observed == 0 {
		return generation > 0 && generation <= live
	}
	return generation == observed
}

// unset is how show names no time.
const unset = "unset"

// show returns the whole second of t, as the API server stores it.
func show(t *metav1.Time) string {
	if t.IsZero() {
		return unset
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}
