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

	agentrun "github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// begin makes a run of the example that does not end, and waits until its Job
// runs.
func (s *stage) begin(t *testing.T, name string) (job string) {
	t.Helper()
	run := play.NewRun(name)
	run.Spec.PodAnnotations[kubelet.OutcomeAnnotation] = kubelet.Never
	_, err := s.Runs.Create(t.Context(), run, metav1.CreateOptions{})
	require.NoError(t, err)
	suite.Eventually(t, name+" has started", func(ctx context.Context) bool {
		run, err := s.Runs.Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		if run.Status.StartedAt != nil {
			job = run.Status.JobRef.Name
		}
		return job != ""
	})
	return job
}

// TestAgentRunReleaseHolds: the example releases the held Job of a run that is
// deleted, also where the garbage collector waits for the Job. Before the
// controller is removed, its program releases what it holds, with the rights
// that it has. TestSoak of suite chaos kills a controller with holds, and suite
// sieve of internal/bench kills it before and after each write.
//
//req:shows J4
func TestAgentRunReleaseHolds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	hold := suite.Controller{Args: []string{"--hold-jobs"}}
	p := plane.Start(t, s.Stage, hold)
	job := s.begin(t, "foreground")
	assert.Contains(t, s.live(t, job).Finalizers, agentrun.HoldFinalizer)
	foreground := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	require.NoError(t, s.Runs.Delete(t.Context(), "foreground", foreground))
	s.gone(t, job)

	job = s.begin(t, "left-behind")
	require.NoError(t, p.Stop())
	p = plane.Start(t, s.Stage, hold) // it looks for held Jobs at the start, and every hour
	suite.Eventually(t, "it shows that one Job is held, and for how long", func(ctx context.Context) bool {
		held, err := p.Value(ctx, "agentrun_jobs_held", nil)
		oldest, err2 := p.Value(ctx, "agentrun_jobs_held_oldest_seconds", nil)
		return err == nil && err2 == nil && held == 1 && oldest > 0
	})
	require.NoError(t, p.Stop())
	out, err := exec.CommandContext(t.Context(), plane.Program, "--kubeconfig="+plane.RoleKubeconfig, "--namespaces="+s.Namespace, "--release-holds").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "released 1 Jobs\n", string(out))
	s.terminate(t)
	s.gone(t, job)
	s.terminated(t)
}
