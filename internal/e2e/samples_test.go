// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// TestSamples plays every sample of the demo and compares the stored objects
// with the sample's promise.
//
//req:shows A1 E1 E5 E7 J3
func TestSamples(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	seen := watchJobs(t, stage)
	p := startController(t, stage)
	all, err := play.Load()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 7)
	t.Run("stories", func(t *testing.T) {
		for _, s := range all {
			t.Run(strings.TrimSuffix(s.File, ".yaml"), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				require.NoError(t, s.Create(ctx, stage))
				require.NoError(t, s.Play(ctx, stage))
				require.Empty(t, s.Check(ctx, stage), s.Title)
				for _, name := range s.Names() {
					run, err := stage.Runs.Get(ctx, name, metav1.GetOptions{})
					require.NoError(t, err)
					holdsTogether(t, run)
				}
				described, err := kubectl.Run(ctx, nil, "--namespace="+stage.Namespace, "describe", "aruns", s.Names()[0])
				require.NoError(t, err)
				for _, reason := range s.Events {
					assert.Regexp(t, `(?m)^  (Warning|Normal) +`+reason+` `, described, "kubectl describe shows the event")
				}
			})
		}
	})
	for run, jobs := range seen.byRun() {
		assert.Len(t, jobs, 1, "run %s was run more than once", run)
	}
	for _, s := range all {
		if s.Secret == nil {
			continue
		}
		for _, value := range s.Secret.StringData {
			assertNowhere(t, stage, p, value)
		}
	}
}

// holdsTogether checks what holds for every terminal run.
func holdsTogether(t *testing.T, run *v1alpha1.AgentRun) {
	t.Helper()
	st := run.Status
	assert.Equal(t, run.Generation, st.ObservedGeneration, "observedGeneration")
	require.NotNil(t, st.UpdatedAt, "updatedAt")
	require.NotNil(t, st.FinishedAt, "finishedAt")
	assert.False(t, st.UpdatedAt.Before(st.FinishedAt), "updatedAt %s is before finishedAt %s", st.UpdatedAt, st.FinishedAt)
	if st.StartedAt != nil {
		assert.False(t, st.FinishedAt.Before(st.StartedAt), "finishedAt %s is before startedAt %s", st.FinishedAt, st.StartedAt)
	}
	if st.Phase == v1alpha1.Succeeded {
		assert.NotNil(t, st.StartedAt, "a run that succeeded had started")
	}
	assert.Equal(t, st.Phase == v1alpha1.Succeeded, apimeta.IsStatusConditionTrue(st.Conditions, "Ready"), "Ready")
	assert.Equal(t, st.Phase == v1alpha1.Failed, apimeta.IsStatusConditionTrue(st.Conditions, "Degraded"), "Degraded")
	assert.False(t, apimeta.IsStatusConditionTrue(st.Conditions, "Progressing"), "Progressing")
	for _, c := range st.Conditions {
		assert.Equal(t, run.Generation, c.ObservedGeneration, "condition %s", c.Type)
	}
}

// assertNowhere searches the log, the objects and the Events for a secret's
// value.
func assertNowhere(t *testing.T, stage *play.Stage, p *rig.Process, secret string) {
	t.Helper()
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	require.NotEmpty(t, log)
	assert.NotContains(t, string(log), secret, "the controller's log")
	for _, what := range []string{"aruns", "jobs", "events", "pods"} {
		text, err := kubectl.Run(t.Context(), nil, "--namespace="+stage.Namespace, "get", what, "-o", "yaml")
		require.NoError(t, err)
		assert.NotContains(t, text, secret, what)
	}
}
