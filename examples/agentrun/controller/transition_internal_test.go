// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
)

func TestStateOfd(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := map[string]struct {
		reason string
		found  jobgc.Observation
		phase  v1alpha1.Phase
		why    string
		fails  bool
	}{
		"NotStarted": {"The run of a Job whose pods have not started does not run.", jobgc.Observation{State: jobgc.Active}, v1alpha1.Pending, reasonWaiting, false},
		"Active":     {"A started Job is.", jobgc.Observation{State: jobgc.Active, StartedAt: start}, v1alpha1.Running, reasonRunning, false},
		"Finishing":  {"A result that is only announced is none yet.", jobgc.Observation{State: jobgc.Finishing, StartedAt: start}, v1alpha1.Running, reasonRunning, false},
		"Suspended":  {"A suspended Job waits.", jobgc.Observation{State: jobgc.Suspended}, v1alpha1.Pending, reasonSuspended, false},
		"Deleting":   {"A Job that is being deleted does not end the run until it is gone.", jobgc.Observation{State: jobgc.Deleting}, v1alpha1.Pending, reasonDeleting, false},
		"DeletingHeld": {
			"A held Job is deleted only after that is recorded.",
			jobgc.Observation{State: jobgc.Deleting, Job: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{HoldFinalizer}}}},
			v1alpha1.Failed, reasonWorkflowJobMissing, true,
		},
		"Succeeded": {"", jobgc.Observation{State: jobgc.Finished, Outcome: jobgc.Succeeded, StartedAt: start, FinishedAt: start}, v1alpha1.Succeeded, reasonSucceeded, false},
		"Failed":    {"A failed Job is reported.", jobgc.Observation{State: jobgc.Finished, Outcome: jobgc.Failed, Reason: "BackoffLimitExceeded"}, v1alpha1.Failed, reasonJobFailed, true},
		"Missing":   {"A lost Job ends the run and is reported.", jobgc.Observation{State: jobgc.Missing, Source: "LiveRead"}, v1alpha1.Failed, reasonWorkflowJobMissing, true},
		"Replaced":  {"A run whose Job was replaced has lost it too.", jobgc.Observation{State: jobgc.Replaced, Source: "LiveRead"}, v1alpha1.Failed, reasonWorkflowJobMissing, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := newRun("nightly", "uid-1")
			run.Status.JobRef = &jobgc.Ref{Name: "nightly-1"}
			setPhase(run, v1alpha1.Pending, reasonWaiting, "", start)
			facts, failed := applyJob(run, tc.found, start)
			assert.Equal(t, tc.phase, run.Status.Phase, tc.reason)
			assert.Equal(t, tc.why, run.Status.Reason, tc.reason)
			assert.Equal(t, tc.phase.Progress(), facts.Progress)
			assert.Equal(t, tc.fails, failed != nil, tc.reason)
		})
	}
}

func TestAJobThatHasNotStartedClearsWhatHinderedItsRun(t *testing.T) {
	run, now := newRun("nightly", "uid-1"), time.Now()
	run.Status.JobRef = &jobgc.Ref{Name: "nightly-1"}
	setDegraded(run, "Unavailable", "the API server does not answer", now)
	_, failed := applyJob(run, jobgc.Observation{State: jobgc.Active}, now)
	require.NoError(t, failed)
	assert.True(t, apimeta.IsStatusConditionFalse(run.Status.Conditions, degraded))
	assert.Equal(t, reasonWaiting, run.Status.Reason)
}

func TestATerminalPhaseIsNeverLeft(t *testing.T) {
	run := newRun("nightly", "uid-1")
	setPhase(run, v1alpha1.Succeeded, reasonSucceeded, "", time.Now())
	want := run.DeepCopy()
	setPhase(run, v1alpha1.Failed, reasonJobFailed, "too late", time.Now())
	assert.Equal(t, want, run)
}

func TestRecoveryClearsTheFailure(t *testing.T) {
	run, now := newRun("nightly", "uid-1"), time.Now()
	setDegraded(run, events.MissingSecret, "no Secret", now)
	assert.Equal(t, v1alpha1.Pending, run.Status.Phase)
	assert.True(t, apimeta.IsStatusConditionTrue(run.Status.Conditions, degraded))
	setPhase(run, v1alpha1.Pending, reasonWaiting, "", now)
	assert.True(t, apimeta.IsStatusConditionFalse(run.Status.Conditions, degraded))
	assert.Empty(t, run.Status.Message)
	require.Len(t, run.Status.Conditions, 3)
	for _, c := range run.Status.Conditions {
		assert.Equal(t, int64(3), c.ObservedGeneration, c.Type)
		assert.NotEqual(t, metav1.ConditionUnknown, c.Status)
	}
}

// The clock of the Job controller may be ahead. A time in the future would stay
// in the status, and keep the run beyond its retention.
func TestJudged_TakesNoTimeFromTheFuture(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		reason               string
		began, ended         time.Time
		wantBegan, wantEnded time.Time
	}{
		"Past":    {"The Job's own times are the better ones.", now.Add(-time.Hour), now.Add(-time.Minute), now.Add(-time.Hour), now.Add(-time.Minute)},
		"Ended":   {"It ended no later than now.", now.Add(-time.Hour), now.Add(time.Hour), now.Add(-time.Hour), now},
		"Both":    {"It began no later than now either.", now.Add(time.Minute), now.Add(time.Hour), now, now},
		"Unknown": {"A time that is not known stays so.", time.Time{}, time.Time{}, time.Time{}, time.Time{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			run := newRun("nightly", "uid-1")
			run.Status.JobRef = &jobgc.Ref{Name: "nightly-1"}
			found := jobgc.Observation{State: jobgc.Finished, Outcome: jobgc.Succeeded, StartedAt: tc.began, FinishedAt: tc.ended}
			facts, _ := applyJob(run, found, now)
			assert.Equal(t, tc.wantBegan, facts.StartedAt, tc.reason)
			assert.Equal(t, tc.wantEnded, facts.FinishedAt, tc.reason)
		})
	}
}
