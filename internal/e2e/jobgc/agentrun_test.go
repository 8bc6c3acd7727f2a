// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	agentrun "github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// agents is the example, with --hold-jobs, in a stage's namespace.
type agents struct {
	*stage

	p *rig.Process
}

func newAgents(t *testing.T) *agents {
	t.Helper()
	a := &agents{stage: newStage(t)}
	a.begin(t)
	return a
}

// begin starts the example, or starts it again.
func (a *agents) begin(t *testing.T) {
	t.Helper()
	a.p = plane.Start(t, a.Stage, suite.Controller{Args: []string{"--hold-jobs"}})
}

// start makes a run that does not end, and waits until its Job runs.
func (a *agents) start(t *testing.T, name string) (job string) {
	t.Helper()
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AgentRunSpec{Image: "busybox:1.37"}}
	run.Spec.PodAnnotations = map[string]string{kubelet.OutcomeAnnotation: kubelet.Never}
	_, err := a.Runs.Create(t.Context(), run, metav1.CreateOptions{})
	require.NoError(t, err)
	suite.Eventually(t, name+" has started", func(context.Context) bool {
		status := a.status(t, name)
		if status.StartedAt != nil {
			job = status.JobRef.Name
		}
		return job != ""
	})
	return job
}

func (a *agents) status(t *testing.T, name string) v1alpha1.AgentRunStatus {
	t.Helper()
	run, err := a.Runs.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return run.Status
}

// TestAgentRunsWithHolds: the controller releases the Job of a deleted run,
// also if the garbage collector waits for the Job. TestSoak of suite chaos
// kills a controller with holds, and suite sieve of internal/bench kills it
// before and after each write.
//
//req:shows J4
func TestAgentRunsWithHolds(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	t.Run("TheRunIsDeletedWhileItsJobRuns", func(t *testing.T) {
		job := a.start(t, "run-deleted")
		assert.Contains(t, a.live(t, job).Finalizers, agentrun.HoldFinalizer)
		require.NoError(t, a.Runs.Delete(t.Context(), "run-deleted", metav1.DeleteOptions{}))
		a.gone(t, job)
	})
	t.Run("TheRunIsDeletedInTheForeground", func(t *testing.T) {
		job := a.start(t, "foreground")
		require.NoError(t, a.Runs.Delete(t.Context(), "foreground", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
		a.gone(t, job)
	})
}

// Before the controller is removed, its program releases what it holds, with
// the rights that it has.
func TestAgentRunReleaseHolds(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	job := a.start(t, "left-behind")
	require.NoError(t, a.p.Stop())
	a.begin(t) // it looks for held Jobs at the start, and every hour
	suite.Eventually(t, "it shows that one Job is held, and for how long", func(ctx context.Context) bool {
		held, err := a.p.Value(ctx, "agentrun_jobs_held", nil)
		oldest, err2 := a.p.Value(ctx, "agentrun_jobs_held_oldest_seconds", nil)
		return err == nil && err2 == nil && held == 1 && oldest > 0
	})
	require.NoError(t, a.p.Stop())
	out, err := exec.CommandContext(t.Context(), plane.Program, "--kubeconfig="+plane.RoleKubeconfig, "--namespaces="+a.Namespace, "--release-holds").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "released 1 Jobs\n", string(out))
	a.terminate(t)
	a.gone(t, job)
	a.terminated(t)
}
