// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// run is what a Sweeper knows of a run.
type run struct {
	object   metav1.Object
	finished time.Time // zero: it has not
	own      *int32    // its ttlSecondsAfterFinished
}

// expiresIn returns how long a run still has, zero or less if it has expired,
// and whether it ever expires. A run that has not finished, is being deleted or
// is retained never does.
func (r run) expiresIn(opts Options, now time.Time) (in time.Duration, ever bool) {
	lives := opts.TTL
	if r.own != nil {
		lives = time.Duration(*r.own) * time.Second
	}
	if lives <= 0 {
		return 0, false
	}
	ends := !r.finished.IsZero() && r.object.GetDeletionTimestamp() == nil
	if !ends || isRetained(r.object) {
		return 0, false
	}
	return lives + min(r.finished.Sub(now), math.MaxInt64-lives), true // Sub saturates, and so must the sum
}

func isRetained(object metav1.Object) bool {
	switch strings.ToLower(strings.TrimSpace(object.GetAnnotations()[RetainAnnotation])) {
	case "1", "true", "yes", "y", "on", "keep", "forever":
		return true
	}
	return false
}
