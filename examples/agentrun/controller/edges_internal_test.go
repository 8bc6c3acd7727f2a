// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
)

// TestReconcile_BacksOffAfterAConflict: a lasting one must not be a loop of
// five attempts a second without an error.
func TestReconcile_BacksOffAfterAConflict(t *testing.T) {
	conflict := func(resource string) error {
		group := v1alpha1.GroupVersion().WithResource(resource).GroupResource()
		return apierrors.NewConflict(group, "nightly", errors.New("another version"))
	}
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := begin(t, run)
		g.change(t, run, ends(batchv1.JobComplete, ""))
		g.refuse = conflict("agentruns")
		after, err := g.reconcile(t, run)
		require.Error(t, err)
		assert.Zero(t, after)
		assert.Empty(t, g.recorder.Reasons(), "a conflict is not a failure until it lasts")
	})
	synctest.Test(t, func(t *testing.T) { // a webhook that refuses the Job
		run := newRun("nightly")
		g := newRig(t, run)
		g.cluster.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, conflict("jobs")
		})
		after, err := g.reconcile(t, run)
		require.Error(t, err)
		assert.Zero(t, after)
	})
}

// TestReconcile_ReportsAnEndThatIsNotWholeInTheStore: an older CRD drops a
// field, so that Commit has written and returns an error.
func TestReconcile_ReportsAnEndThatIsNotWholeInTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun("nightly")
		g := begin(t, run)
		g.prunes = true
		g.change(t, run, ends(batchv1.JobFailed, "BackoffLimitExceeded"))
		_, err := g.reconcile(t, run)
		require.Error(t, err)
		assert.Contains(t, g.recorder.Reasons(), reasonJobFailed)
	})
}

// TestReconcile_EndsARunThatIsBeingDeleted: another controller's finalizer may
// wait for the end. That its Job goes with the run is not an alarm.
func TestReconcile_EndsARunThatIsBeingDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		begins bool
		edit   func(t *testing.T, g *rig, run *v1alpha1.AgentRun)
		want   v1alpha1.Phase
	}{
		"NotBegun": {"It gets no Job.", false, func(*testing.T, *rig, *v1alpha1.AgentRun) {}, v1alpha1.Cancelled},
		"Finishes": {"Its result is recorded.", true, func(t *testing.T, g *rig, run *v1alpha1.AgentRun) {
			t.Helper()
			g.change(t, run, ends(batchv1.JobComplete, ""))
		}, v1alpha1.Succeeded},
		"Foreground": {"The garbage collector deletes the Job first.", true, func(t *testing.T, g *rig, run *v1alpha1.AgentRun) {
			t.Helper()
			require.NoError(t, g.cluster.BatchV1().Jobs("ns").Delete(t.Context(), run.Status.JobRef.Name, metav1.DeleteOptions{}))
		}, v1alpha1.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newRun("nightly")
				run.Finalizers = []string{"example.com/archive"}
				g := newRig(t, run)
				if tc.begins {
					g.must(t, run)
					g.change(t, run, starts)
					g.must(t, run)
				}
				require.NoError(t, g.Delete(t.Context(), run))
				tc.edit(t, g, run)
				for range 3 {
					time.Sleep(g.must(t, run))
				}
				assert.Equal(t, tc.want, run.Status.Phase, tc.reason)
				assert.Empty(t, g.recorder.Reasons())
			})
		})
	}
}

// TestNeedsLook_BelievesStep where it knows more than the Job says.
func TestNeedsLook_BelievesStep(t *testing.T) {
	r := &Reconciler{noPodsAfter: podsTimeout}
	run := newRun("nightly")
	run.Status.Phase = v1alpha1.Running
	run.Status.UpdatedAt = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	running := jobgc.Observation{State: jobgc.Active}
	assert.False(t, r.needsLook(run, running), "there is no Job to look at")
	run.Status.JobRef = &jobgc.Ref{Name: "run-1", UID: "1"}
	assert.True(t, r.needsLook(run, running))
	assert.False(t, r.needsLook(run, jobgc.Observation{State: jobgc.Cancelled}))
	assert.False(t, r.needsLook(run, jobgc.Observation{State: jobgc.Pending}))
}

// TestFinished_CountsFromTheRecord: the controller was away for longer than the
// retention.
func TestFinished_CountsFromTheRecord(t *testing.T) {
	run := newRun("nightly")
	at, _ := finished(run)
	assert.Zero(t, at)
	ended := time.Now().Add(-time.Hour)
	run.Status.FinishedAt = &metav1.Time{Time: ended}
	at, _ = finished(run)
	assert.Equal(t, ended, at)
	recorded := metav1.NewTime(ended.Add(50 * time.Minute))
	run.Status.Conditions = []metav1.Condition{{Type: "Progressing", LastTransitionTime: recorded}}
	at, _ = finished(run)
	assert.Equal(t, recorded.Time, at)
}
