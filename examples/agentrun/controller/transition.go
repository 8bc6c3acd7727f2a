// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// The conditions of an AgentRun.
const (
	ready       = "Ready"
	progressing = "Progressing"
	degraded    = "Degraded"
)

// enter sets the phase of the run and its conditions. A run never leaves a
// terminal phase.
func enter(run *v1alpha1.AgentRun, phase v1alpha1.Phase, reason, message string, now time.Time) {
	if run.Status.Phase.Progress() == status.Done {
		return
	}
	run.Status.Phase, run.Status.Reason, run.Status.Message = phase, reason, message
	done := phase.Progress() == status.Done
	set := func(kind string, is bool, why, text string) {
		truth := metav1.ConditionFalse
		if is {
			truth = metav1.ConditionTrue
		}
		status.SetCondition(&run.Status.Conditions, metav1.Condition{
			Type: kind, Status: truth, Reason: why, Message: text, ObservedGeneration: run.Generation,
		}, now)
	}
	set(ready, phase == v1alpha1.Succeeded, reason, message)
	set(progressing, !done, reason, message)
	if phase == v1alpha1.Failed {
		set(degraded, true, reason, message)
	} else {
		set(degraded, false, "AsExpected", "")
	}
}

// hinder marks a run that waits for a fix. Its phase stays, and Degraded has
// the reason.
func hinder(run *v1alpha1.AgentRun, reason, message string, now time.Time) {
	if run.Status.Phase == "" {
		run.Status.Phase = v1alpha1.Pending
	}
	run.Status.Reason, run.Status.Message = reason, message
	for kind, truth := range map[string]metav1.ConditionStatus{ready: metav1.ConditionFalse, progressing: metav1.ConditionTrue, degraded: metav1.ConditionTrue} {
		status.SetCondition(&run.Status.Conditions, metav1.Condition{
			Type: kind, Status: truth, Reason: reason, Message: message, ObservedGeneration: run.Generation,
		}, now)
	}
}

// judged sets the phase of the run from the state of its Job, and returns the
// facts for the status contract. If the Job is lost or failed, the run ends,
// and its Event reports the returned error.
func judged(run *v1alpha1.AgentRun, f jobgc.Observation, now time.Time) (status.Facts, error) {
	facts := status.Facts{StartedAt: f.StartedAt, FinishedAt: f.FinishedAt}
	job := run.Status.JobRef.Name
	var failed error
	switch f.State {
	case jobgc.Finished:
		if f.Outcome == jobgc.Succeeded {
			enter(run, v1alpha1.Succeeded, reasonSucceeded, "", now)
			break
		}
		failed = &failure{reasonJobFailed, fmt.Sprintf("Job %s failed: %s: %s", job, f.Reason, f.Message)}
		enter(run, v1alpha1.Failed, reasonJobFailed, failed.Error(), now)
	case jobgc.Missing, jobgc.Replaced:
		failed = &failure{reasonWorkflowJobMissing, fmt.Sprintf("Job %s is gone and its result was never seen (%s, proof %s)", job, f.State, f.Source)}
		enter(run, v1alpha1.Failed, reasonWorkflowJobMissing, failed.Error(), now)
	case jobgc.Suspended:
		enter(run, v1alpha1.Pending, reasonSuspended, "", now)
	case jobgc.Deleting:
		if f.Job != nil && slices.Contains(f.Job.Finalizers, HoldFinalizer) { // the finalizer keeps it until its loss is recorded
			failed = &failure{reasonWorkflowJobMissing, fmt.Sprintf("Job %s was deleted before it finished", job)}
			enter(run, v1alpha1.Failed, reasonWorkflowJobMissing, failed.Error(), now)
			break
		}
		enter(run, run.Status.Phase, reasonDeleting, fmt.Sprintf("Job %s is being deleted before it finished", job), now)
	case jobgc.NotCreated, jobgc.Pending, jobgc.Collected, jobgc.Cancelled: // the run does not change here
	case jobgc.Active, jobgc.Finishing:
		if !f.StartedAt.IsZero() {
			enter(run, v1alpha1.Running, reasonRunning, "", now)
		} else if run.Status.Phase != v1alpha1.Running {
			enter(run, v1alpha1.Pending, reasonWaiting, "", now) // an earlier hindrance is over
		}
	}
	facts.Progress = run.Status.Phase.Progress()
	return facts, failed
}
