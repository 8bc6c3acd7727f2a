// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// expiresIn returns how long a run still has, zero or less if it has expired,
// and whether it ever expires.
//
// The run's own ttlSecondsAfterFinished counts before keep.RunTTL. Zero or a
// negative value keeps the run. A run that has not finished (a zero
// finishedAt), is being deleted, or carries the annotation keep.Retain with 1,
// true, yes, y, on, keep or forever in any case, never expires.
func expiresIn(run metav1.Object, finishedAt time.Time, own *int32, keep jobgc.Retention, now time.Time) (in time.Duration, ever bool) {
	lives := keep.RunTTL
	if own != nil {
		lives = time.Duration(*own) * time.Second
	}
	if lives <= 0 || finishedAt.IsZero() || run.GetDeletionTimestamp() != nil || retained(run, keep) {
		return 0, false
	}
	return lives + min(finishedAt.Sub(now), math.MaxInt64-lives), true // Sub saturates, and so must the sum
}

func retained(run metav1.Object, keep jobgc.Retention) bool {
	key := keep.Retain
	if key == "" {
		key = "agents.proompteng.ai/retain"
	}
	switch strings.ToLower(strings.TrimSpace(run.GetAnnotations()[key])) {
	case "1", "true", "yes", "y", "on", "keep", "forever":
		return true
	}
	return false
}
