// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFresh_IsAJobThatFinishedBeforeTheGuardWasMade: a store may be restored
// while a process runs. A Job that finishes there again is not what a copy of
// its owner from before says.
func TestFresh_IsAJobThatFinishedBeforeTheGuardWasMade(t *testing.T) {
	made := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		finished, now time.Time
		want          bool
	}{
		"JustBefore":  {made.Add(-time.Second), made.Add(time.Second), true},
		"After":       {made.Add(time.Second), made.Add(2 * time.Second), false},
		"AMinuteAgo":  {made.Add(-time.Second), made.Add(59 * time.Second), false},
		"InTheFuture": {made, made.Add(-time.Second), false},
		"NotFinished": {time.Time{}, made, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := judge{now: tc.now, madeAt: made}
			assert.Equal(t, tc.want, j.fresh(finishedAt(tc.finished)))
		})
	}
	assert.False(t, judge{now: made, madeAt: made}.fresh(nil))
}

// finishedAt is a Job that has finished then, or not if then is zero.
func finishedAt(then time.Time) *batchv1.Job {
	job := &batchv1.Job{}
	if then.IsZero() {
		return job
	}
	job.Status.Conditions = []batchv1.JobCondition{{
		Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(then),
	}}
	return job
}
