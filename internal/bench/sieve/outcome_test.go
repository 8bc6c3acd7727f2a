// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// outcome is how a run ended.
type outcome struct {
	phase   v1alpha1.Phase
	reason  string
	jobs    int  // that were created
	missing bool // a version of the run said WorkflowJobMissing
	event   bool // the Event of a failure exists
	final   string
	broken  []string // the status contract
}

// outcome reads the last version of the run, the objects that are left, and the
// earlier versions of the run.
func (w *world) outcome() outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := outcome{jobs: w.created[jobs]}
	last := new(v1alpha1.AgentRun)
	events := map[string]bool{}
	for _, c := range w.history {
		switch {
		case c.base() == "events":
			reason, _ := c.object.Object["reason"].(string)
			events[reason] = true
		case c.base() == runs && c.kind != watch.Deleted:
			run := as[v1alpha1.AgentRun](c.object)
			o.missing = o.missing || run.Status.Reason == "WorkflowJobMissing"
			if run.UID == last.UID {
				for _, err := range statustest.Check(last.Status.Stamp, run.Status.Stamp, run.Generation) {
					o.broken = append(o.broken, fmt.Sprintf("version %d: %v", c.version, err))
				}
			}
			last = run
		}
	}
	o.phase = last.Status.Phase
	o.reason = last.Status.Reason
	lines := []string{""}
	isLeft := w.objects[key{runs, runName}] != nil
	if isLeft || o.phase.Terminal() {
		lines[0] = w.describe(last)
	}
	lines = append(lines, w.left()...)
	o.event = events[o.reason]
	o.final = strings.Join(lines, "\n")
	return o
}

// left describes the objects that are left, except Events, in order.
func (w *world) left() []string {
	var lines []string
	for k, stored := range w.objects {
		if k.resource != "events" {
			lines = append(lines, fmt.Sprintf("%s is left, finalizers %v, being deleted %t",
				k.resource, stored.GetFinalizers(), stored.GetDeletionTimestamp() != nil))
		}
	}
	slices.Sort(lines)
	return lines
}

// describe says all of a status that does not depend on the time.
func (w *world) describe(run *v1alpha1.AgentRun) string {
	st := run.Status
	job := new(batchv1.Job)
	if st.JobRef != nil {
		var uids []types.UID // of all Jobs
		for _, c := range w.history {
			if c.resource == jobs && c.kind == watch.Added {
				uids = append(uids, c.object.GetUID())
			}
			if c.base() == jobs && c.object.GetUID() == st.JobRef.UID {
				job = as[batchv1.Job](c.object)
			}
		}
		which := fmt.Sprintf("Job %d", slices.Index(uids, st.JobRef.UID))
		st.JobRef = &jobgc.Ref{UID: types.UID(which), Outcome: st.JobRef.Outcome}
	}
	_, end := finished(job)
	times := "started " + same(st.StartedAt, job.Status.StartTime) +
		", finished " + same(st.FinishedAt, &metav1.Time{Time: end})
	st.Stamp = status.Stamp{ObservedGeneration: st.ObservedGeneration}
	for i := range st.Conditions {
		st.Conditions[i].ObservedGeneration = 0
		st.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	slices.SortFunc(st.Conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	text, _ := json.Marshal(st) // a status has nothing that JSON lacks
	// A uid depends on how many objects there were before. Names have it, or its
	// beginning.
	named := strings.NewReplacer(string(run.UID), "UID", string(run.UID)[:min(8, len(run.UID))], "UID")
	return times + "; " + named.Replace(string(text))
}

// same compares a time of the status with the Job's.
func same(at, ofJob *metav1.Time) string {
	switch {
	case at == nil:
		return "never"
	case ofJob != nil && at.Equal(ofJob):
		return "with the Job"
	}
	return "at another time"
}

// wrongs are the ways to end otherwise than without faults, as the columns of
// the page name them.
func wrongs() []string {
	return []string{
		"result lost", "second Job", "falsely missing", "never ended", eventLost, "other",
	}
}

const eventLost = "Event lost"

// differences compares the outcome of a plan with the outcome without faults. It
// returns what is wrong.
func differences(want, got outcome) (wrong []string) {
	ended := got.phase.Terminal()
	for i, is := range []bool{
		ended && got.phase != want.phase,
		got.jobs > want.jobs,
		got.missing && !want.missing,
		want.phase.Terminal() && !ended,
		want.event && !got.event,
	} {
		if is {
			wrong = append(wrong, wrongs()[i])
		}
	}
	isSame := got.final == want.final && len(got.broken) == 0
	if len(wrong) == 0 && !isSame {
		wrong = append(wrong, "other")
	}
	return wrong
}
