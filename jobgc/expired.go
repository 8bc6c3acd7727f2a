// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Expired decides whether a run is to be deleted, and otherwise how long until then; 0 means never as things are.
//
// The run's own ttlSecondsAfterFinished counts before r.Runs; of either, 0 keeps the run, and so does a negative value.
// A run that has not finished (a zero finishedAt), is being deleted, is nil, or carries the annotation r.Retain with 1, true, yes,
// y, on, keep or forever in any case, is never expired.
//
// The caller deletes, with the run's uid and resourceVersion as preconditions, so that a run that was edited or replaced
// since is spared, and no more at a time than the API server should bear.
func (r Retention) Expired(run metav1.Object, finishedAt time.Time, own *int32, now time.Time) (expired bool, in time.Duration) {
	keep := r.Runs
	if own != nil {
		keep = time.Duration(*own) * time.Second
	}
	if isNil(run) || keep <= 0 || finishedAt.IsZero() || run.GetDeletionTimestamp() != nil || r.retained(run) {
		return false, 0
	}
	if now.Sub(finishedAt) >= keep {
		return true, 0
	}
	return false, keep + min(finishedAt.Sub(now), math.MaxInt64-keep) // Sub saturates, and so is the sum to do
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
