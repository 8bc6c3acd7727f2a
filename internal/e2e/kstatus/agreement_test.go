// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kstatus_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/proompteng/controllerkit/status"
)

// absent is the verdict of a condition that is not there.
const absent metav1.ConditionStatus = ""

// state is one that a controller can bring a run into.
type state struct {
	progress                    status.Progress
	ready, reconciling, stalled metav1.ConditionStatus
	outdated                    bool // the spec changed since
	deleted                     bool
}

// contract is what the fields mean, in the order in which they count: an object on its way out is nothing else; a status that
// was computed from an older spec says nothing of this one; Reconciling and Stalled speak for the object when they are True; then
// Ready does; and a controller that has seen the spec and has nothing to say is content.
func (s state) contract() kstatus.Status {
	switch {
	case s.deleted:
		return kstatus.TerminatingStatus
	case s.outdated, s.reconciling == metav1.ConditionTrue:
		return kstatus.InProgressStatus
	case s.stalled == metav1.ConditionTrue:
		return kstatus.FailedStatus
	case s.ready == metav1.ConditionFalse, s.ready == metav1.ConditionUnknown:
		return kstatus.InProgressStatus
	default:
		return kstatus.CurrentStatus
	}
}

// TestKstatusAgreesOnEveryState: reached by way of the package, from a new run and from each other state of it.
func TestKstatusAgreesOnEveryState(t *testing.T) {
	states := every()
	require.Len(t, states, 3*4*4*4*2*2)
	for _, s := range states {
		fresh := newRun()
		s.reach(t, fresh)
		require.Equal(t, s.contract(), verdict(t, fresh), "%+v", s)

		for _, earlier := range []state{
			{progress: status.Done, ready: metav1.ConditionTrue},
			{progress: status.Running, ready: metav1.ConditionFalse, reconciling: metav1.ConditionTrue},
			{progress: status.Done, ready: metav1.ConditionFalse, stalled: metav1.ConditionTrue},
			{ready: metav1.ConditionUnknown, outdated: true},
		} {
			if s.reconciling == metav1.ConditionTrue && s.stalled == metav1.ConditionTrue {
				continue // a contradiction, of which kstatus believes what stands first in the list: the older one
			}
			r := newRun()
			earlier.reach(t, r)
			s.reach(t, r)
			require.Equal(t, s.contract(), verdict(t, r), "%+v after %+v", s, earlier)
		}
	}
}

// reach brings a run into the state.
func (s state) reach(t *testing.T, r *run) {
	t.Helper()
	var group []metav1.Condition
	for _, c := range []metav1.Condition{is("Ready", s.ready), is("Reconciling", s.reconciling), is("Stalled", s.stalled)} {
		if c.Status != absent {
			group = append(group, c)
		}
	}
	r.reconcile(t, status.Facts{Progress: s.progress}, group...)
	if s.outdated {
		r.respec()
	}
	if s.deleted {
		r.remove()
	}
}

// every returns all states.
func every() (all []state) {
	verdicts := []metav1.ConditionStatus{absent, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}
	for _, p := range []status.Progress{status.Waiting, status.Running, status.Done} {
		for i := range 4 * 4 * 4 * 2 * 2 {
			all = append(all, state{
				progress: p, ready: verdicts[i%4], reconciling: verdicts[i/4%4], stalled: verdicts[i/16%4],
				outdated: i/64%2 == 1, deleted: i/128 == 1,
			})
		}
	}
	return all
}

// TestOneLife: as a controller that follows the conventions goes through it.
func TestOneLife(t *testing.T) {
	r := newRun()
	step := func(want kstatus.Status, what string) {
		t.Helper()
		assert.Equal(t, want, verdict(t, r), what)
	}
	r.reconcile(t, status.Facts{}, is("Ready", metav1.ConditionFalse), is("Reconciling", metav1.ConditionTrue))
	step(kstatus.InProgressStatus, "it waits")
	r.reconcile(t, status.Facts{Progress: status.Running}, is("Ready", metav1.ConditionFalse), is("Reconciling", metav1.ConditionTrue))
	step(kstatus.InProgressStatus, "it runs")
	r.reconcile(t, status.Facts{Progress: status.Done}, is("Ready", metav1.ConditionFalse), is("Stalled", metav1.ConditionTrue))
	step(kstatus.FailedStatus, "it failed: Reconciling is gone with the group, and Stalled is there")
	r.respec()
	step(kstatus.InProgressStatus, "the user mended the spec, and nobody has looked yet: the old failure is not one of the new spec")
	r.reconcile(t, status.Facts{Progress: status.Running}, is("Ready", metav1.ConditionFalse), is("Reconciling", metav1.ConditionTrue))
	step(kstatus.InProgressStatus, "it runs again: Stalled is gone")
	r.reconcile(t, status.Facts{Progress: status.Done}, is("Ready", metav1.ConditionTrue))
	step(kstatus.CurrentStatus, "it succeeded")
	r.respec()
	step(kstatus.InProgressStatus, "a finished run whose spec changed is not current")
	r.reconcile(t, status.Facts{Progress: status.Done}, is("Ready", metav1.ConditionTrue))
	step(kstatus.CurrentStatus, "until that was looked at")
	r.remove()
	step(kstatus.TerminatingStatus, "it is deleted")
}

// TestReconcileOfAnOlderGeneration: what a controller wrote while the user changed the spec does not count as ready. It would, had
// the controller taken the generation from the server's reply.
func TestReconcileOfAnOlderGeneration(t *testing.T) {
	r := newRun()
	r.reconcile(t, status.Facts{Progress: status.Done}, is("Ready", metav1.ConditionTrue))
	r.respec()
	assert.EqualValues(t, 1, r.Status.ObservedGeneration)
	assert.EqualValues(t, 1, r.Status.Conditions[0].ObservedGeneration)
	assert.Equal(t, kstatus.InProgressStatus, verdict(t, r))
}

// TestNeverReconciled: of a new object without a status kstatus says that it is current. A kind whose users go by kstatus gives
// its status the default that says otherwise; to the contract it is the same.
func TestNeverReconciled(t *testing.T) {
	r := newRun()
	assert.Equal(t, kstatus.CurrentStatus, verdict(t, r), "if this changes, the advice can go")

	r.Status.ObservedGeneration = -1 // +kubebuilder:default={"observedGeneration":-1}
	assert.Equal(t, kstatus.InProgressStatus, verdict(t, r))
	r.reconcile(t, status.Facts{})
	assert.EqualValues(t, 1, r.Status.ObservedGeneration)
	assert.Equal(t, kstatus.CurrentStatus, verdict(t, r))
}

// TestNamesThatKstatusKnows: times may be called anything; observedGeneration and conditions may not.
func TestNamesThatKstatusKnows(t *testing.T) {
	cases := map[string]struct {
		reason string
		names  status.Names
		want   kstatus.Status
	}{
		"Times":              {"kstatus has no use for times.", status.Names{StartedAt: "startTime", FinishedAt: "completionTime", UpdatedAt: "-"}, kstatus.InProgressStatus},
		"ObservedGeneration": {"It cannot see that the spec changed.", status.Names{ObservedGeneration: "seen"}, kstatus.CurrentStatus},
		"None":               {"Nor where there is no such field.", status.Names{ObservedGeneration: "-"}, kstatus.CurrentStatus},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Task",
				"metadata": map[string]any{"name": "a", "uid": "uid", "resourceVersion": "1", "generation": int64(1)},
			}}
			after := before.DeepCopy()
			after.Object["status"] = map[string]any{"phase": "Done"}
			_, err := tc.names.Patch(before, after, status.Facts{Progress: status.Done}, metav1.Now().Time)
			require.NoError(t, err)
			after.SetGeneration(2)
			result, err := kstatus.Compute(after)
			require.NoError(t, err)
			assert.Equal(t, tc.want, result.Status, fmt.Sprint(tc.reason, after.Object))
		})
	}
}
