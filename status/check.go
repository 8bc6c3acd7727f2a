// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Check reports every way in which going from before to after breaks the contract, given the generation that the object
// has when after is seen; nil if it breaks none. It is for property tests of controllers: read the stamps of two
// successive versions of an object with [Names.Stamp], and ask. Times are compared in whole seconds. An updatedAt that
// goes back is no breach: the writer's clock did.
func Check(before, after Stamp, liveGeneration int64) []error {
	var broken []error
	breach := func(format string, args ...any) { broken = append(broken, fmt.Errorf("status: "+format, args...)) }

	if after.ObservedGeneration < before.ObservedGeneration {
		breach("observedGeneration went back from %d to %d", before.ObservedGeneration, after.ObservedGeneration)
	}
	if after.ObservedGeneration > liveGeneration {
		breach("observedGeneration is %d, ahead of generation %d", after.ObservedGeneration, liveGeneration)
	}
	once := func(name string, was, is *metav1.Time) {
		if !was.IsZero() && !sameSecond(was, is) {
			breach("%s moved from %s to %s", name, show(was), show(is))
		}
	}
	once("startedAt", before.StartedAt, after.StartedAt)
	once("finishedAt", before.FinishedAt, after.FinishedAt)
	if !after.StartedAt.IsZero() && !after.FinishedAt.IsZero() && after.FinishedAt.Unix() < after.StartedAt.Unix() {
		breach("finishedAt %s is before startedAt %s", show(after.FinishedAt), show(after.StartedAt))
	}
	moved := after.ObservedGeneration != before.ObservedGeneration ||
		!sameSecond(after.StartedAt, before.StartedAt) || !sameSecond(after.FinishedAt, before.FinishedAt)
	if after.UpdatedAt.IsZero() && (moved || !before.UpdatedAt.IsZero()) {
		broken = append(broken, errors.New("status: updatedAt is not set after a write"))
	}
	return broken
}

func show(t *metav1.Time) string {
	if t.IsZero() {
		return "unset"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}
