// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestSpec: the fields of a run's spec that the samples do not show.
//
//req:shows J1
func TestSpec(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	p := plane.Start(t, stage, suite.Controller{Env: []string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=5m"}})
	never := map[string]string{kubelet.OutcomeAnnotation: kubelet.Never}

	t.Run("CancelEndsARunningRunAndItsJob", func(t *testing.T) {
		t.Parallel()
		run := create(t, stage, "cancel", func(spec *v1alpha1.AgentRunSpec) { spec.PodAnnotations = never })
		reached(t, stage, run, v1alpha1.Running)
		require.NoError(t, suite.PatchSpec(t.Context(), stage, run.Name, map[string]any{"cancel": true}))
		run = reached(t, stage, run, v1alpha1.Cancelled)
		suite.AssertEnded(t, run)
		suite.Eventually(t, "the Job is deleted", func(ctx context.Context) bool {
			_, err := stage.Kube.BatchV1().Jobs(stage.Namespace).Get(ctx, run.Status.JobRef.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		events, err := stage.Events(t.Context(), run.Name)
		require.NoError(t, err)
		assert.Empty(t, events, "A cancelled run is not a failure.")
	})
	t.Run("TheLogShowsHowLongThingsStay", func(t *testing.T) {
		t.Parallel()
		var said []line
		suite.Eventually(t, "the controller logs its settings", func(context.Context) bool {
			said = logged(t, p, "Reconciling")
			return len(said) > 0
		})
		assert.Len(t, said, 1)
		assert.Equal(t, retention{Succeeded: "5m0s", Failed: "5m0s", Unrecorded: "168h0m0s", Runs: "720h0m0s", Logs: "168h0m0s"}, said[0].retention)
	})
	t.Run("ANameThatTheAPIServerWouldRefuseEndsTheRun", func(t *testing.T) {
		t.Parallel()
		run := create(t, stage, "refused", func(spec *v1alpha1.AgentRunSpec) { spec.PodAnnotations = map[string]string{"my team": "a"} })
		run = reached(t, stage, run, v1alpha1.Failed)
		assert.Equal(t, "InvalidSpec", run.Status.Reason)
		assert.Contains(t, run.Status.Message, "spec.template.annotations", "the message names the field")
	})
	t.Run("ASpecOfMoreThanAMegabyteEndsTheRun", func(t *testing.T) { // etcd has room for a short status
		t.Parallel()
		run := create(t, stage, "large", func(spec *v1alpha1.AgentRunSpec) { spec.Args = []string{strings.Repeat("a", 1_500_000)} })
		run = reached(t, stage, run, v1alpha1.Failed)
		assert.Equal(t, "InvalidSpec", run.Status.Reason)
		assert.Nil(t, run.Status.JobRef)
	})
	for name, set := range map[string]func(*v1alpha1.AgentRunSpec){
		"secretRef.name": func(spec *v1alpha1.AgentRunSpec) {
			spec.SecretRef = &v1alpha1.SecretRef{Name: "default/agent-key", Key: "token"}
		},
		"secretRef.key": func(spec *v1alpha1.AgentRunSpec) {
			spec.SecretRef = &v1alpha1.SecretRef{Name: "agent-key", Key: "..data"}
		},
		"serviceAccountName": func(spec *v1alpha1.AgentRunSpec) { spec.ServiceAccountName = "Not A Name" },
		"image":              func(spec *v1alpha1.AgentRunSpec) { spec.Image += "\n" },
	} {
		t.Run("TheSchemaRefuses_"+name, func(t *testing.T) {
			t.Parallel()
			run := play.NewRun("wrong")
			set(&run.Spec)
			_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			assert.Contains(t, err.Error(), "spec."+name, "the error names the field")
		})
	}
}

// TestEventsOff_LeavesTheConditionAndTheLog: without Events, the condition of a
// hindered run has the reason, and each attempt logs it.
//
//req:shows E2 E4
func TestEventsOff_LeavesTheConditionAndTheLog(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	p := plane.Start(t, stage, suite.Controller{Env: []string{"JANGAR_CONTROLLER_EVENTS_ENABLED=false"}})
	run := create(t, stage, "waits", func(spec *v1alpha1.AgentRunSpec) { spec.SecretRef = &v1alpha1.SecretRef{Name: "absent", Key: "token"} })
	const says = `spec.secretRef: Secret "absent" does not exist yet`
	suite.Eventually(t, "the condition has the reason", func(ctx context.Context) bool {
		now, err := stage.Runs.Get(ctx, run.Name, metav1.GetOptions{})
		require.NoError(t, err)
		c := apimeta.FindStatusCondition(now.Status.Conditions, "Degraded")
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == "MissingSecret" && c.Message == says
	})
	var attempts float64
	suite.Eventually(t, "it was tried again", func(ctx context.Context) bool {
		var err error
		attempts, err = p.Value(ctx, "controller_queue_retries_total", nil)
		require.NoError(t, err)
		return attempts >= 3
	})
	lines := logged(t, p, "Reconcile failed")
	assert.GreaterOrEqual(t, float64(len(lines)), attempts, "each attempt has its line")
	for _, l := range lines {
		assert.Equal(t, [2]string{run.Name, says}, [2]string{l.Name, l.Err})
	}
	require.NoError(t, p.Stop()) // after it has written the queue
	events, err := stage.Events(t.Context(), run.Name)
	require.NoError(t, err)
	assert.Empty(t, events)
}

// line is a line of the controller's log.
type line struct {
	Msg, Err, Name string
	Cause          string // of dropped Events
	Count          int
	retention
}

// retention is the retention in a log line.
type retention struct{ Succeeded, Failed, Unrecorded, Runs, Logs string }

// logged returns the lines of the controller's log with a message.
func logged(t *testing.T, p *rig.Process, msg string) []line {
	t.Helper()
	lines, err := rig.Lines[line](p)
	require.NoError(t, err)
	return slices.DeleteFunc(lines, func(l line) bool { return l.Msg != msg })
}

func create(t *testing.T, stage *play.Stage, name string, set func(*v1alpha1.AgentRunSpec)) *v1alpha1.AgentRun {
	t.Helper()
	run := play.NewRun(name)
	if set != nil {
		set(&run.Spec)
	}
	run, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
	require.NoError(t, err)
	return run
}

// reached waits until the run is in a phase and returns the run.
func reached(t *testing.T, stage *play.Stage, run *v1alpha1.AgentRun, phase v1alpha1.Phase) (now *v1alpha1.AgentRun) {
	t.Helper()
	suite.Eventually(t, run.Name+" is "+string(phase), func(ctx context.Context) bool {
		var err error
		now, err = stage.Runs.Get(ctx, run.Name, metav1.GetOptions{})
		return err == nil && now.Status.Phase == phase
	})
	return now
}
