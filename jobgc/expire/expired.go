// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// expired reports whether to delete a run, and for how long it is overdue.
//
// The run's own ttlSecondsAfterFinished counts before keep.RunTTL. Zero or a
// negative value keeps the run. A run that has not finished (a zero
// finishedAt), is being deleted, or carries the annotation keep.Retain with 1,
// true, yes, y, on, keep or forever in any case, is never expired.
func expired(run metav1.Object, finishedAt time.Time, own *int32, keep jobgc.Retention, now time.Time) (by time.Duration, is bool) {
	lives := keep.RunTTL
	if own != nil {
		lives = time.Duration(*own) * time.Second
	}
	if lives <= 0 || finishedAt.IsZero() || run.GetDeletionTimestamp() != nil || retained(run, keep) {
		return 0, false
	}
	by = now.Sub(finishedAt) // it saturates
	return by - lives, by >= lives
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
