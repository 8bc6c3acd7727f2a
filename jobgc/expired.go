// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Expired decides whether to delete a run, and otherwise how long until then.
// Zero means never with these values.
//
// The run's own ttlSecondsAfterFinished counts before r.RunTTL. Zero or a
// negative value keeps the run. A run that has not finished (a zero
// finishedAt), is being deleted, is nil, or carries the annotation r.Retain
// with 1, true, yes, y, on, keep or forever in any case, is never expired.
//
// The caller deletes the run with its uid and resourceVersion as preconditions,
// so that a run that was edited or recreated since stays.
func (r Retention) Expired(run metav1.Object, finishedAt time.Time, own *int32, now time.Time) (expired bool, in time.Duration) {
	keep := r.RunTTL
	if own != nil {
		keep = time.Duration(*own) * time.Second
	}
	if isnil.Is(run) || keep <= 0 || finishedAt.IsZero() || run.GetDeletionTimestamp() != nil || r.retained(run) {
		return false, 0
	}
	if now.Sub(finishedAt) >= keep {
		return true, 0
	}
	return false, keep + min(finishedAt.Sub(now), math.MaxInt64-keep) // Sub saturates, and so must the sum
}

func (r Retention) retained(run metav1.Object) bool {
	key := r.Retain
	if key == "" {
		key = "agents.proompteng.ai/retain"
	}
	switch strings.ToLower(strings.TrimSpace(run.GetAnnotations()[key])) {
	case "1", "true", "yes", "y", "on", "keep", "forever":
		return true
	}
	return false
}
