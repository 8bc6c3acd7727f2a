// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// The reasons of this controller, in addition to the reasons of package events.
// Status, conditions and Events have them.
const (
	reasonWaiting            = "WaitingForJob"
	reasonSuspended          = "Suspended"
	reasonRunning            = "JobRunning"
	reasonNoPods             = "NoPods"
	reasonDeleting           = "JobDeleting"
	reasonSucceeded          = "JobSucceeded"
	reasonJobFailed          = "JobFailed"
	reasonCancelled          = "Cancelled"
	reasonWorkflowJobMissing = "WorkflowJobMissing"
)

// conditionTypes are the conditions of an AgentRun. Only this controller writes
// them.
var conditionTypes = []string{"Ready", "Progressing", "Degraded"}

// usualStart is how long after its creation a Job has started normally.
const usualStart = 2 * time.Second

// enter puts a run that has not ended into the phase that its Job is in, or
// notes the error that keeps it from going on. It returns why the run has
// failed, or does not go on although its Job runs.
func (r *Reconciler) enter(run *v1alpha1.AgentRun, found jobgc.Observation, err error) error {
	switch {
	case reasonOf(err) == events.InvalidSpec && run.Status.JobRef == nil:
		failed := &failure{events.InvalidSpec, err.Error()}
		set(run, v1alpha1.Failed, true, failed.reason, failed.message)
		return failed
	case err != nil:
		set(run, cmp.Or(run.Status.Phase, v1alpha1.Pending), true, reasonOf(err), err.Error())
	case found.State == jobgc.Cancelled, isDeleted(run, found):
		set(run, v1alpha1.Cancelled, false, reasonCancelled, "")
	case found.Outcome == jobgc.Succeeded:
		set(run, v1alpha1.Succeeded, false, reasonSucceeded, "")
	case found.Outcome == jobgc.Failed:
		return fail(run, reasonJobFailed, "failed: %s: %s", found.Reason, found.Message)
	case found.State == jobgc.Deleting:
		message := "Job " + run.Status.JobRef.Name + " is being deleted before it finished"
		set(run, cmp.Or(run.Status.Phase, v1alpha1.Pending), false, reasonDeleting, message)
	case found.Lost():
		return fail(run, reasonWorkflowJobMissing, "is gone and its result was never seen (%s)", found.State)
	case found.State == jobgc.Suspended:
		set(run, v1alpha1.Pending, false, reasonSuspended, "")
	case r.lacksPods(run, found):
		const text = "Job %s has started and has no pod, which a quota or pod security may refuse: " +
			"kubectl describe job %s"
		failed := &failure{reasonNoPods, fmt.Sprintf(text, run.Status.JobRef.Name, run.Status.JobRef.Name)}
		set(run, v1alpha1.Running, true, failed.reason, failed.message)
		return failed
	case !found.StartedAt.IsZero():
		set(run, v1alpha1.Running, false, reasonRunning, "")
	case run.Status.JobRef != nil && run.Status.Phase != v1alpha1.Running:
		set(run, v1alpha1.Pending, false, reasonWaiting, "")
	}
	return nil
}

// isDeleted reports whether a run that is being deleted has lost its Job by
// that, or got none. Another controller's finalizer may hold the run until it
// has ended.
func isDeleted(run *v1alpha1.AgentRun, found jobgc.Observation) bool {
	return run.DeletionTimestamp != nil && (found.Lost() || found.State == jobgc.NotCreated)
}

// fail ends a run because of its Job.
func fail(run *v1alpha1.AgentRun, reason, format string, args ...any) error {
	text := fmt.Sprintf("Job "+run.Status.JobRef.Name+" "+format, args...)
	set(run, v1alpha1.Failed, true, reason, text)
	return &failure{reason, text}
}

// set sets the phase of a run and its conditions. A failed run is bad, and a
// run that waits for a fix.
func set(run *v1alpha1.AgentRun, phase v1alpha1.Phase, bad bool, reason, message string) {
	run.Status.Phase = phase
	run.Status.Reason = reason
	run.Status.Message = message
	now := time.Now()
	for kind, is := range map[string]bool{
		"Ready": phase == v1alpha1.Succeeded, "Progressing": !phase.Terminal(), "Degraded": bad,
	} {
		truth := metav1.ConditionFalse
		if is {
			truth = metav1.ConditionTrue
		}
		status.SetCondition(&run.Status.Conditions, metav1.Condition{
			Type: kind, Status: truth, Reason: reason, Message: message, ObservedGeneration: run.Generation,
		}, now)
	}
}

// untilStart is how long to wait for the start of a Job that is new: one write
// then says that the Job exists and that it runs. It is zero when the usual
// time is over, because another client may delete a Job that is not recorded.
func untilStart(before, run *v1alpha1.AgentRun, found jobgc.Observation) time.Duration {
	isNew := before.Status.JobRef == nil && run.Status.JobRef != nil
	if !isNew || run.Status.Phase != v1alpha1.Pending || found.State == jobgc.Suspended {
		return 0
	}
	return max(usualStart-time.Since(run.Status.JobRef.CreatedAt.Time), 0)
}

// lacksPods reports whether a Job has no pod although its run is Running for
// noPodsAfter. It compares two times of this controller, because the clock of
// the Job controller may differ.
func (r *Reconciler) lacksPods(run *v1alpha1.AgentRun, found jobgc.Observation) bool {
	isLong := run.Status.Reason == reasonNoPods || recordedFor(run) >= r.noPodsAfter
	return found.NoPods() && run.Status.Phase == v1alpha1.Running && isLong
}

// needsLook reports whether the status will say something about a running Job
// that needs more than the cache: that it has no pods, or that all is well.
func (r *Reconciler) needsLook(run *v1alpha1.AgentRun, found jobgc.Observation) bool {
	switch {
	case run.Status.Phase != v1alpha1.Running, found.Outcome != "", found.Lost():
		return false
	case run.Status.JobRef == nil, found.State == jobgc.Pending, found.State == jobgc.Cancelled:
		return false // Step knows more than the Job says
	case r.lacksPods(run, found) && run.Status.Reason != reasonNoPods:
		return true
	}
	return recordedFor(run) >= heartbeat
}

// recordedFor is the age of the stored status.
func recordedFor(run *v1alpha1.AgentRun) time.Duration {
	if run.Status.UpdatedAt == nil {
		return 0
	}
	return time.Since(run.Status.UpdatedAt.Time)
}

// afterOr is when to look at a run again. No event reports that no pod comes.
func (r *Reconciler) afterOr(found jobgc.Observation, usual time.Duration) time.Duration {
	if found.NoPods() {
		return r.noPodsAfter
	}
	return cmp.Or(found.After, usual)
}

// failure is an error that only a change of the run or of its surroundings
// fixes. Packages events and metrics use its methods.
type failure struct{ reason, message string }

func (f *failure) Error() string  { return f.message }
func (f *failure) Reason() string { return f.reason }
func (f *failure) Terminal() bool { return true }

// failureOf returns the failure that a status has recorded; nil if there is none.
func failureOf(run *v1alpha1.AgentRun) error {
	if run.Status.Phase != v1alpha1.Failed {
		return nil
	}
	return &failure{run.Status.Reason, run.Status.Message}
}

// reasonOf returns the reason of an error, as package events records it.
func reasonOf(err error) string {
	reason, _ := events.Classify(err)
	return reason
}

// isUnanswered reports whether a request got no answer, or a 5xx.
func isUnanswered(err error) bool {
	reason := reasonOf(err)
	return reason == events.Timeout || reason == events.Unavailable
}
