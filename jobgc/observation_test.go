// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestStateOf(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason   string
		job      batchv1.Job
		state    jobgc.State
		outcome  jobgc.Outcome
		why      string
		finished time.Time
	}{
		"New":       {reason: "A Job without a status runs.", state: jobgc.Active},
		"Complete":  {"Complete decides.", conditions(holds(batchv1.JobComplete, at)), jobgc.Finished, jobgc.Succeeded, "CompleteReason", at},
		"Failed":    {"Failed decides.", conditions(holds(batchv1.JobFailed, at)), jobgc.Finished, jobgc.Failed, "FailedReason", at},
		"Suspended": {"A suspended Job is neither missing nor done.", conditions(holds(batchv1.JobSuspended, at)), jobgc.Suspended, "", "SuspendedReason", time.Time{}},
		"SuccessCriteriaMet": {
			"The outcome is not final: the last pods are still ending.",
			conditions(holds(batchv1.JobSuccessCriteriaMet, at)), jobgc.Finishing, "", "SuccessCriteriaMetReason",
			time.Time{},
		},
		"FailureTarget": {
			"FailureTarget is not an outcome either.",
			conditions(holds(batchv1.JobFailureTarget, at)), jobgc.Finishing, "", "FailureTargetReason",
			time.Time{},
		},
		"CompleteComesSecond": {
			"Since Kubernetes 1.31 SuccessCriteriaMet is first: the first condition must not decide.",
			conditions(holds(batchv1.JobSuccessCriteriaMet, at), holds(batchv1.JobComplete, at)), jobgc.Finished, jobgc.Succeeded, "CompleteReason", at,
		},
		"CompleteStandsFirst": {
			"The last condition must not decide either.",
			conditions(holds(batchv1.JobComplete, at), holds(batchv1.JobSuccessCriteriaMet, at)), jobgc.Finished, jobgc.Succeeded, "CompleteReason", at,
		},
		"FailedAfterSuspended": {
			"A condition that has become False is history.",
			conditions(batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}, holds(batchv1.JobFailed, at)), jobgc.Finished, jobgc.Failed, "FailedReason", at,
		},
		"CompleteIsFalse":   {"Only True counts.", conditions(batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionFalse}), jobgc.Active, "", "", time.Time{}},
		"CompleteIsUnknown": {"Only True counts.", conditions(batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionUnknown}), jobgc.Active, "", "", time.Time{}},
		"BothClaims":        {"A Job that also failed is not a success.", conditions(holds(batchv1.JobComplete, at), holds(batchv1.JobFailed, at)), jobgc.Finished, jobgc.Failed, "FailedReason", at},
		"TwoOfOneType": {
			"No controller writes this, but the answer must be the same each time.",
			conditions(holds(batchv1.JobFailed, at), holds(batchv1.JobFailed, at.Add(time.Minute))), jobgc.Finished, jobgc.Failed, "FailedReason", at,
		},
		"DeadlineExceededWithoutPods": {
			"A Job can fail with no failed pod: counts decide nothing.",
			batchv1.Job{Status: batchv1.JobStatus{Failed: 0, Conditions: []batchv1.JobCondition{holds(batchv1.JobFailed, at)}}},
			jobgc.Finished, jobgc.Failed, "FailedReason", at,
		},
		"SomeOfManyCompletions": {
			"Succeeded pods come long before the Job is Complete.",
			batchv1.Job{Spec: batchv1.JobSpec{Completions: ptr.To[int32](5)}, Status: batchv1.JobStatus{Succeeded: 4, Failed: 2}},
			jobgc.Active, "", "",
			time.Time{},
		},
		"CustomCondition": {"Conditions of other types decide nothing.", conditions(holds("Vendor", at)), jobgc.Active, "", "", time.Time{}},
		"FinishedAndDeleting": {
			"A held Job that was deleted after its finish still has its outcome.",
			deletingJob(at, holds(batchv1.JobComplete, at)), jobgc.Finished, jobgc.Succeeded, "CompleteReason", at,
		},
		"DeletingUnfinished": {
			"A foreground delete of a held, running Job never gets a condition; the workload has not failed.",
			deletingJob(at), jobgc.Deleting, "", "JobDeleting",
			time.Time{},
		},
		"DeletingWhileItFails": {
			"Its outcome is decided, and no further condition may come.",
			deletingJob(at, holds(batchv1.JobFailureTarget, at)), jobgc.Finished, jobgc.Failed, "FailureTargetReason", at,
		},
		"DeletingSuspended": {"Deletion counts before suspension.", deletingJob(at, holds(batchv1.JobSuspended, at)), jobgc.Deleting, "", "JobDeleting", time.Time{}},
		"NoTransitionTime": {
			"Without a transition time, the completion time is the finish.",
			batchv1.Job{Status: batchv1.JobStatus{CompletionTime: ptr.To(metav1.NewTime(at)), Conditions: []batchv1.JobCondition{holds(batchv1.JobComplete, time.Time{})}}},
			jobgc.Finished, jobgc.Succeeded, "CompleteReason", at,
		},
		"ManagedBySomeoneElse": {
			"The conditions mean the same for any writer.",
			batchv1.Job{Spec: batchv1.JobSpec{ManagedBy: ptr.To("example.com/queue")}, Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{holds(batchv1.JobComplete, at)}}},
			jobgc.Finished, jobgc.Succeeded, "CompleteReason", at,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := jobgc.StateOf(&tc.job)
			assert.Equal(t, tc.state, f.State, tc.reason)
			assert.Equal(t, tc.outcome, f.Outcome, tc.reason)
			assert.Equal(t, tc.why, f.Reason, tc.reason)
			switch {
			case tc.why == "JobDeleting":
				assert.Equal(t, "the Job is being deleted before it finished", f.Message)
			case tc.why != "":
				assert.Equal(t, strings.TrimSuffix(tc.why, "Reason")+" message", f.Message)
			}
			assert.Equal(t, tc.finished, f.FinishedAt, tc.reason)
			assert.Equal(t, "Seen", f.Source)
			assert.Same(t, &tc.job, f.Job)
			assert.Equal(t, f.State == jobgc.Deleting, f.Lost())
		})
	}
}

func TestStateOfOfNothing(t *testing.T) {
	assert.Equal(t, jobgc.Observation{}, jobgc.StateOf(nil), "no Job, no finding")
}

// A suspension clears the start, and a resumption sets a new one: StateOf tells
// what the Job tells.
func TestStateOfStart(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	job := &batchv1.Job{}
	assert.True(t, jobgc.StateOf(job).StartedAt.IsZero())
	job.Status.StartTime = ptr.To(metav1.NewTime(at))
	assert.Equal(t, at, jobgc.StateOf(job).StartedAt)
}

func TestNoPods_CountsEveryPodOfAStartedJob(t *testing.T) {
	began := ptr.To(metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	tests := map[string]struct {
		reason string
		status batchv1.JobStatus
		want   bool
	}{
		"None":        {"A started Job without a pod waits for one.", batchv1.JobStatus{StartTime: began}, true},
		"NotStarted":  {"The Job controller has not looked at the Job yet.", batchv1.JobStatus{}, false},
		"Active":      {"A pod that is pending or runs is active.", batchv1.JobStatus{StartTime: began, Active: 1}, false},
		"Terminating": {"A pod that is being deleted still runs.", batchv1.JobStatus{StartTime: began, Terminating: ptr.To[int32](1)}, false},
		"Failed":      {"After a failure the Job controller waits before the next pod.", batchv1.JobStatus{StartTime: began, Failed: 1}, false},
		"Succeeded":   {"A pod has done its work.", batchv1.JobStatus{StartTime: began, Succeeded: 1}, false},
		"Uncounted": {
			"A pod that has ended is counted later.",
			batchv1.JobStatus{StartTime: began, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod"}}},
			false,
		},
		"NoneUncounted": {
			"The API server stores an empty list.",
			batchv1.JobStatus{StartTime: began, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}},
			true,
		},
		"Suspended": {
			"A suspended Job gets no pod.",
			batchv1.JobStatus{StartTime: began, Conditions: []batchv1.JobCondition{holds(batchv1.JobSuspended, began.Time)}},
			false,
		},
		"Finished": {
			"A Job can end without a pod.",
			batchv1.JobStatus{StartTime: began, Conditions: []batchv1.JobCondition{holds(batchv1.JobFailed, began.Time)}},
			false,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, jobgc.StateOf(&batchv1.Job{Status: tc.status}).NoPods(), tc.reason)
		})
	}
	assert.False(t, jobgc.Observation{}.NoPods(), "nothing is known")
}

func TestLost(t *testing.T) {
	for _, s := range []jobgc.State{jobgc.Missing, jobgc.Replaced, jobgc.Deleting} {
		assert.True(t, jobgc.Observation{State: s}.Lost(), s)
	}
	for _, s := range []jobgc.State{"", jobgc.NotCreated, jobgc.Pending, jobgc.Active, jobgc.Suspended, jobgc.Finishing, jobgc.Finished, jobgc.Collected} {
		assert.False(t, jobgc.Observation{State: s}.Lost(), s)
	}
}

func conditions(c ...batchv1.JobCondition) batchv1.Job {
	return batchv1.Job{Status: batchv1.JobStatus{Conditions: c}}
}

func deletingJob(at time.Time, c ...batchv1.JobCondition) batchv1.Job {
	job := conditions(c...)
	job.DeletionTimestamp = ptr.To(metav1.NewTime(at))
	return job
}
