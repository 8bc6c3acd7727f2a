// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/status"
)

// Create creates a run. It retries while the API server fails, until ctx ends.
func Create(ctx context.Context, stage *play.Stage, run *v1alpha1.AgentRun) (*v1alpha1.AgentRun, error) {
	for {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		created, err := stage.Runs.Create(once, run, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // the answer of an earlier attempt was lost
			created, err = stage.Runs.Get(once, run.Name, metav1.GetOptions{})
		}
		cancel()
		if err == nil {
			return created, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("create %s: %w", run.Name, err)
		}
		Wait(ctx, 100*time.Millisecond)
	}
}

// Ended reports whether a run is terminal.
func Ended(run *v1alpha1.AgentRun) bool { return run.Status.Phase.Progress() == status.Done }

// AllEnded waits until the stage has n runs and all are terminal, and returns
// them.
func AllEnded(t *testing.T, stage *play.Stage, n int) (runs []v1alpha1.AgentRun) {
	t.Helper()
	var left []string
	defer func() {
		if t.Failed() {
			t.Logf("not ended: %q", left)
		}
	}()
	Eventually(t, fmt.Sprintf("%d runs have ended", n), func(ctx context.Context) bool {
		list, err := stage.Runs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		runs, left = list.Items, nil
		for _, run := range runs {
			if !Ended(&run) {
				st := run.Status
				left = append(left, fmt.Sprintf("%s %s/%s %s", run.Name, st.Phase, st.Reason, st.Message))
			}
		}
		return len(runs) == n && len(left) == 0
	})
	return runs
}

// AssertLoad checks that a run of play.NewLoad ended as its Job did.
func AssertLoad(t *testing.T, run *v1alpha1.AgentRun) {
	t.Helper()
	phase := play.Truth(run)
	assert.Equal(t, phase, run.Status.Phase, "%s: %s %s", run.Name, run.Status.Reason, run.Status.Message)
	assert.Equal(t, "Job"+string(phase), run.Status.Reason, "%s: %s", run.Name, run.Status.Message)
	assert.NotNil(t, run.Status.StartedAt, "%s: startedAt", run.Name)
	AssertEnded(t, run)
}

// AssertEnded checks what holds for every terminal run.
func AssertEnded(t *testing.T, run *v1alpha1.AgentRun) {
	t.Helper()
	st := run.Status
	assert.Equal(t, run.Generation, st.ObservedGeneration, "%s: observedGeneration", run.Name)
	require.NotNil(t, st.UpdatedAt, "%s: updatedAt", run.Name)
	require.NotNil(t, st.FinishedAt, "%s: finishedAt", run.Name)
	assert.False(t, st.UpdatedAt.Before(st.FinishedAt),
		"%s: updatedAt %s is before finishedAt %s", run.Name, st.UpdatedAt, st.FinishedAt)
	if st.StartedAt != nil {
		assert.False(t, st.FinishedAt.Before(st.StartedAt),
			"%s: finishedAt %s is before startedAt %s", run.Name, st.FinishedAt, st.StartedAt)
	}
	if st.Phase == v1alpha1.Succeeded {
		assert.NotNil(t, st.StartedAt, "%s: a run that succeeded had started", run.Name)
	}
	want := map[string]bool{
		"Ready":       st.Phase == v1alpha1.Succeeded,
		"Degraded":    st.Phase == v1alpha1.Failed,
		"Progressing": false,
	}
	for condition, is := range want {
		got := apimeta.IsStatusConditionTrue(st.Conditions, condition)
		assert.Equal(t, is, got, "%s: condition %s", run.Name, condition)
	}
	for _, c := range st.Conditions {
		assert.Equal(t, run.Generation, c.ObservedGeneration, "%s: condition %s", run.Name, c.Type)
	}
}

// Eventually waits until what becomes true, for at most five minutes: a slow
// machine must not fail a test.
func Eventually(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for !is(ctx) {
		require.NoError(t, ctx.Err(), "waiting until %s", what)
		Wait(ctx, 50*time.Millisecond)
	}
}

// Wait waits for d of real time, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
