// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/status"
)

// TestSIGTERMFinishesWhatRuns: after SIGTERM the controller writes every Event
// and exits with 0.
func TestSIGTERMFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	const refused = 30
	stage := newStage(t)
	p, err := rig.Start(t.Context(), program, logDir(t), kubeconfig, nil, "--namespaces="+stage.Namespace)
	require.NoError(t, err)
	for i := range refused {
		create(t, stage, fmt.Sprintf("refused-%02d", i), func(spec *v1alpha1.AgentRunSpec) { spec.Parameters = map[string]string{"prompt": "hello"} })
	}
	for i := range refused {
		reached(t, stage, &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("refused-%02d", i)}}, v1alpha1.Failed)
	}
	require.NoError(t, p.Stop())
	list, err := stage.Kube.CoreV1().Events(stage.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=InvalidSpec"})
	require.NoError(t, err)
	assert.Len(t, list.Items, refused)
}

// story returns the i-th run of a mixed load.
func story(i int) *v1alpha1.AgentRun {
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("run-%03d", i)}}
	run.Spec.Image = "busybox:1.37"
	run.Spec.PodAnnotations = map[string]string{"controlplane.controllerkit.dev/delay": "200ms"}
	switch i % 3 {
	case 1:
		run.Spec.JobTTLSecondsAfterFinished = new(int32(0))
	case 2:
		run.Spec.PodAnnotations["controlplane.controllerkit.dev/outcome"] = "fail"
	}
	return run
}

// ended waits until a run of story is terminal and checks its outcome.
func ended(ctx context.Context, t *testing.T, stage *play.Stage, want *v1alpha1.AgentRun) {
	t.Helper()
	for {
		run, err := stage.Runs.Get(ctx, want.Name, metav1.GetOptions{})
		require.NoError(t, err)
		if run.Status.Phase.Progress() != status.Done {
			require.NoError(t, ctx.Err(), "run %s is still %s/%s", run.Name, run.Status.Phase, run.Status.Reason)
			wait(ctx, 50*time.Millisecond)
			continue
		}
		phase := v1alpha1.Succeeded
		if want.Spec.PodAnnotations["controlplane.controllerkit.dev/outcome"] == "fail" {
			phase = v1alpha1.Failed
		}
		assert.Equal(t, phase, run.Status.Phase, "run %s: %s %s", run.Name, run.Status.Reason, run.Status.Message)
		holdsTogether(t, run)
		return
	}
}

// wait sleeps for d of real time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
