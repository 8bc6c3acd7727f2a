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

// TestSpec: the fields of a run's spec that the samples do not show. Events are
// off: the condition of a run that cannot start still has the reason, and each attempt
// logs it.
//
//req:shows E2 E4 J1
func TestSpec(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	p := plane.Start(t, stage, suite.Controller{Env: []string{
		"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=5m", "JANGAR_CONTROLLER_EVENTS_ENABLED=false",
	}})
	t.Run("CancelEndsARunningRunAndItsJob", func(t *testing.T) {
		run := create(t, stage, "cancel", func(spec *v1alpha1.AgentRunSpec) {
			spec.PodAnnotations = map[string]string{kubelet.OutcomeAnnotation: kubelet.Never}
		})
		reached(t, stage, run, v1alpha1.Running)
		_, err := plane.Admin.Run(t.Context(), nil, "--namespace="+stage.Namespace, "patch", "agentrun", run.Name,
			"--type=merge", `--patch={"spec": {"cancel": true}}`)
		require.NoError(t, err)
		run = reached(t, stage, run, v1alpha1.Cancelled)
		suite.AssertEnded(t, run)
		suite.Eventually(t, "the Job is deleted", func(ctx context.Context) bool {
			_, err := stage.Kube.BatchV1().Jobs(stage.Namespace).Get(ctx, run.Status.JobRef.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	})
	t.Run("WhatHindersARunIsInItsConditionAndInTheLog", func(t *testing.T) {
		run := create(t, stage, "waits", func(spec *v1alpha1.AgentRunSpec) {
			spec.SecretRef = &v1alpha1.SecretRef{Name: "absent", Key: "token"}
		})
		const says = `spec.secretRef: Secret "absent" does not exist yet`
		suite.Eventually(t, "it was tried three times", func(context.Context) bool {
			return len(logged(t, p, line{Msg: "Reconciler error", Name: run.Name, Err: says})) >= 3
		})
		run, err := stage.Runs.Get(t.Context(), run.Name, metav1.GetOptions{})
		require.NoError(t, err)
		c := apimeta.FindStatusCondition(run.Status.Conditions, "Degraded")
		require.NotNil(t, c)
		assert.Equal(t, []string{"True", "MissingSecret", says}, []string{string(c.Status), c.Reason, c.Message})
	})
	for name, set := range map[string]func(*v1alpha1.AgentRunSpec){
		"ANameThatTheAPIServerWouldRefuse": func(spec *v1alpha1.AgentRunSpec) {
			spec.PodAnnotations = map[string]string{"my team": "a"}
		},
	} {
		t.Run(name+"_EndsTheRun", func(t *testing.T) {
			run := create(t, stage, strings.ToLower(name), set)
			run = reached(t, stage, run, v1alpha1.Failed)
			assert.Equal(t, "InvalidSpec", run.Status.Reason)
			assert.Nil(t, run.Status.JobRef)
		})
	}
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
		run := play.NewRun("wrong")
		set(&run.Spec)
		_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.Contains(t, err.Error(), "spec."+name, "the schema refuses it and names the field")
	}
	assert.Len(t, logged(t, p, line{Msg: "Retention", Succeeded: "5m0s", Failed: "5m0s", Runs: "720h0m0s"}), 1)
	require.NoError(t, p.Stop()) // after it has written the queue
	events, err := stage.Kube.EventsV1().Events(stage.Namespace).List(t.Context(), metav1.ListOptions{
		FieldSelector: "regarding.kind=AgentRun",
	})
	require.NoError(t, err)
	assert.Empty(t, events.Items)
}

// line is a line of the controller's log.
type line struct{ Msg, Err, Name, Succeeded, Failed, Runs string }

// logged returns the lines of the controller's log that are as expected.
func logged(t *testing.T, p *rig.Process, want line) []line {
	t.Helper()
	lines, err := rig.Lines[line](p)
	require.NoError(t, err)
	return slices.DeleteFunc(lines, func(l line) bool { return l != want })
}

func create(t *testing.T, stage *play.Stage, name string, set func(*v1alpha1.AgentRunSpec)) *v1alpha1.AgentRun {
	t.Helper()
	run := play.NewRun(name)
	set(&run.Spec)
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
