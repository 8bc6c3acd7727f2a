// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestASpecOfMoreThanAMegabyte_EndsTheRun: etcd stores the run, and has room
// for a short status.
func TestASpecOfMoreThanAMegabyte_EndsTheRun(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	plane.Start(t, stage, suite.Controller{})
	run := create(t, stage, "large", func(spec *v1alpha1.AgentRunSpec) { spec.Args = []string{strings.Repeat("a", 1_500_000)} })
	run = reached(t, stage, run, v1alpha1.Failed)
	assert.Equal(t, "InvalidSpec", run.Status.Reason)
	assert.Nil(t, run.Status.JobRef)
}

// TestNoPods_IsReportedUntilAPodRuns: pod security refuses the pods of a Job
// that has started. A run that asks for nothing meets its restricted standard.
func TestNoPods_IsReportedUntilAPodRuns(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	plane.Start(t, stage, suite.Controller{})
	enforce := func(level string) {
		body := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"` + level + `"}}}`)
		_, err := stage.Kube.CoreV1().Namespaces().Patch(t.Context(), stage.Namespace, types.MergePatchType, body, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	enforce("restricted")
	suite.AssertEnded(t, reached(t, stage, create(t, stage, "plain", nil), v1alpha1.Succeeded))
	run := create(t, stage, "refused", func(spec *v1alpha1.AgentRunSpec) {
		spec.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	})
	var now *v1alpha1.AgentRun
	suite.Eventually(t, "the run is Degraded", func(ctx context.Context) bool {
		var err error
		now, err = stage.Runs.Get(ctx, run.Name, metav1.GetOptions{})
		require.NoError(t, err)
		c := apimeta.FindStatusCondition(now.Status.Conditions, "Degraded")
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == "NoPods"
	})
	assert.Equal(t, v1alpha1.Running, now.Status.Phase)
	assert.Contains(t, now.Status.Message, now.Status.JobRef.Name)
	enforce("privileged")
	run = reached(t, stage, run, v1alpha1.Succeeded)
	suite.AssertEnded(t, run)
	suite.Eventually(t, "both Events are written", func(ctx context.Context) bool {
		events, err := stage.Events(ctx, run.Name)
		require.NoError(t, err)
		body, err := json.Marshal(events)
		require.NoError(t, err)
		return strings.Contains(string(body), "NoPods") && strings.Contains(string(body), "Recovered")
	})
}
