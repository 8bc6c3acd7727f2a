// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
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

// setPhase sets the phase of the run and its conditions. A run never leaves a
// terminal phase.
func setPhase(run *v1alpha1.AgentRun, phase v1alpha1.Phase, reason, message string, now time.Time) {
	if !run.Status.Phase.Terminal() {
		setStatus(run, phase, phase == v1alpha1.Failed, reason, message, now)
	}
}

// setDegraded marks a run that waits for a fix. Its phase stays, and Degraded
// has the reason.
func setDegraded(run *v1alpha1.AgentRun, reason, message string, now time.Time) {
	setStatus(run, cmp.Or(run.Status.Phase, v1alpha1.Pending), true, reason, message, now)
}

func setStatus(
	run *v1alpha1.AgentRun, phase v1alpha1.Phase, bad bool, reason, message string, now time.Time,
) {
	run.Status.Phase, run.Status.Reason, run.Status.Message = phase, reason, message
	truth := map[bool]metav1.ConditionStatus{false: metav1.ConditionFalse, true: metav1.ConditionTrue}
	set := func(kind string, is bool, why, text string) {
		status.SetCondition(&run.Status.Conditions, metav1.Condition{
			Type: kind, Status: truth[is], Reason: why, Message: text, ObservedGeneration: run.Generation,
		}, now)
	}
	set(ready, phase == v1alpha1.Succeeded, reason, message)
	set(progressing, !phase.Terminal(), reason, message)
	if !bad {
		reason = "AsExpected"
		message = ""
	}
	set(degraded, bad, reason, message)
}

// podsTimeout is how long a Job that has started may have no pod. Kubernetes
// usually creates it within a second.
const podsTimeout = 30 * time.Second

// lacksPods reports whether the Job has no pod for podsTimeout after the run
// was recorded as Running. It compares two times of this controller, because
// the clock of the Job controller may differ.
func lacksPods(run *v1alpha1.AgentRun, f jobgc.Observation, now time.Time) bool {
	st := run.Status
	switch {
	case !f.NoPods(), st.Phase != v1alpha1.Running, st.UpdatedAt.IsZero():
		return false
	case st.Reason == reasonNoPods:
		return true // it was said before, and that write has changed updatedAt
	}
	return now.Sub(st.UpdatedAt.Time) >= podsTimeout
}

// applyJob sets the phase of the run from the state of its Job, and returns the
// facts for the status contract. If the Job is lost or failed, the run ends,
// and its Event reports the returned error. If the Job gets no pods, the run
// goes on, and an Event reports that too.
func applyJob(run *v1alpha1.AgentRun, f jobgc.Observation, now time.Time) (status.Facts, error) {
	var failed error
	fail := func(reason, format string, args ...any) {
		failed = &failure{reason, fmt.Sprintf("Job "+run.Status.JobRef.Name+" "+format, args...)}
		setPhase(run, v1alpha1.Failed, reason, failed.Error(), now)
	}
	switch f.State {
	case jobgc.Finished:
		if f.Outcome == jobgc.Succeeded {
			setPhase(run, v1alpha1.Succeeded, reasonSucceeded, "", now)
			break
		}
		fail(reasonJobFailed, "failed: %s", f.Message)
	case jobgc.Missing, jobgc.Replaced:
		const text = "is gone and its result was never seen (%s, source %s)"
		fail(reasonWorkflowJobMissing, text, f.State, f.Source)
	case jobgc.Deleting:
		// The finalizer keeps it until its loss is recorded.
		if f.Job != nil && slices.Contains(f.Job.Finalizers, HoldFinalizer) {
			fail(reasonWorkflowJobMissing, "was deleted before it finished")
			break
		}
		phase := cmp.Or(run.Status.Phase, v1alpha1.Pending)
		message := "Job " + run.Status.JobRef.Name + " is being deleted before it finished"
		setPhase(run, phase, reasonDeleting, message, now)
	case jobgc.Cancelled:
		setPhase(run, v1alpha1.Cancelled, reasonCancelled, "", now)
	case jobgc.Suspended:
		setPhase(run, v1alpha1.Pending, reasonSuspended, "", now)
	case jobgc.NotCreated, jobgc.Pending, jobgc.Collected: // the run does not change here
	case jobgc.Active, jobgc.Finishing:
		switch {
		case lacksPods(run, f, now):
			name := run.Status.JobRef.Name
			const text = "Job %s has started and has no pod, which a quota or pod security may refuse: " +
				"kubectl describe job %s"
			failed = &failure{reasonNoPods, fmt.Sprintf(text, name, name)}
			setDegraded(run, reasonNoPods, failed.Error(), now)
		case !f.StartedAt.IsZero():
			setPhase(run, v1alpha1.Running, reasonRunning, "", now)
		case run.Status.Phase != v1alpha1.Running:
			setPhase(run, v1alpha1.Pending, reasonWaiting, "", now) // the error is fixed
		}
	}
	facts := status.Facts{Progress: run.Status.Phase.Progress()}
	facts.StartedAt = notAfter(f.StartedAt, now)
	facts.FinishedAt = notAfter(f.FinishedAt, now)
	return facts, failed
}

// notAfter replaces a time in the future by now. It comes from another clock.
// The status keeps the first times for good, and the retention of the run
// counts from its end.
func notAfter(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return t
}
