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

// absent is the state of a missing condition.
const absent metav1.ConditionStatus = ""

// state is a state of a run that a controller can write.
type state struct {
	progress                    status.Progress
	ready, reconciling, stalled metav1.ConditionStatus
	outdated                    bool // the spec changed since
	deleted                     bool
}

// contract is the meaning of the fields, in order of precedence. A deleted
// object is terminating. A status of an older spec means nothing for the
// current one. Reconciling and Stalled count if they are True, and then Ready.
// Without these conditions, an observed spec means that the object is current.
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

// TestKstatusAgreesOnEveryState: the package brings a run into each state, from
// a new run and from every other state.
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
				continue // a contradiction: kstatus uses the first condition in the list, which is the older one
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

// TestNeverReconciled: kstatus calls a new object without a status current. If
// your users rely on kstatus, give the status the default below, which prevents
// that. The contract accepts both.
func TestNeverReconciled(t *testing.T) {
	r := newRun()
	assert.Equal(t, kstatus.CurrentStatus, verdict(t, r), "if this changes, the advice can go")

	r.Status.ObservedGeneration = -1 // +kubebuilder:default={"observedGeneration":-1}
	assert.Equal(t, kstatus.InProgressStatus, verdict(t, r))
	r.reconcile(t, status.Facts{})
	assert.EqualValues(t, 1, r.Status.ObservedGeneration)
	assert.Equal(t, kstatus.CurrentStatus, verdict(t, r))
}

// TestNamesThatKstatusKnows: times may have any name, but observedGeneration
// and conditions must keep theirs.
func TestNamesThatKstatusKnows(t *testing.T) {
	cases := map[string]struct {
		reason string
		names  status.FieldNames
		want   kstatus.Status
	}{
		"Times":              {"kstatus has no use for times.", status.FieldNames{StartedAt: "startTime", FinishedAt: "completionTime", UpdatedAt: "-"}, kstatus.InProgressStatus},
		"ObservedGeneration": {"It cannot see that the spec changed.", status.FieldNames{ObservedGeneration: "seen"}, kstatus.CurrentStatus},
		"None":               {"Nor where there is no such field.", status.FieldNames{ObservedGeneration: "-"}, kstatus.CurrentStatus},
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
