// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
)

// TestWorkload_IsWhatAgentrunPrints: the chart's Deployment and Rollout equal
// the output of "agentrun manifests" with the same settings, except for the two
// labels that name Helm and the chart.
//
//req:shows A1 R1 R2
func TestWorkload_IsWhatAgentrunPrints(t *testing.T) {
	binary := imageProgram(t)
	cases := map[string]struct {
		reason string
		values string
		args   []string
		env    []string
		kind   string
	}{
		"Deployment": {"The defaults.", "{}", nil, nil, "Deployment"},
		"AllNamespaces": {
			"What reads every Secret is asked for by name.", "controller: {allNamespaces: true}",
			[]string{"--all-namespaces"},
			nil, "Deployment",
		},
		"Canary": {
			"One switch makes it the safe canary.", "progressiveDelivery: {enabled: true}",
			nil,
			[]string{"JANGAR_PROGRESSIVE_DELIVERY_ENABLED=true"},
			"Rollout",
		},
		"CanaryByFlag": {
			"The switch of the workload alone.", "controllers: {progressiveDelivery: {enabled: true}}",
			[]string{"--progressive-delivery"},
			nil, "Rollout",
		},
		"Steps": {
			"Steps of both forms.",
			"progressiveDelivery: {enabled: true, canarySteps: [{setWeight: 10}, {pause: {duration: 10m}}, {setWeight: 50}, {pause: {}}]}",
			nil,
			[]string{
				"JANGAR_PROGRESSIVE_DELIVERY_ENABLED=true",
				`JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS=[{"setWeight":10},{"pause":{"duration":"10m"}},{"setWeight":50},{"pause":{}}]`,
			},
			"Rollout",
		},
		"Settings": {
			"Values have the same effect as flags and variables.",
			`{logFormat: text, image: {repository: registry.example.com/agentrun, tag: "2"},
  controller: {namespaces: [a, b], workers: 8, jobTtlSecondsAfterFinished: 60, agentRunRetentionSeconds: 3600, logRetentionSeconds: 0,
    events: {enabled: false, rateLimitPerMinute: 7}},
  controllers: {replicaCount: 3, leaderElection: {leaseDurationSeconds: 30}, extraArgs: [--hold-jobs]}}`,
			[]string{
				"--log-format=text", "--image=registry.example.com/agentrun:2", "--namespaces=a,b", "--workers=8", "--replicas=3",
				"--leader-elect-lease-duration=30s", "--", "--hold-jobs",
			},
			[]string{
				"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=60", "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS=3600",
				"JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS=0", "JANGAR_CONTROLLER_EVENTS_ENABLED=false",
				"JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN=7",
			},
			"Deployment",
		},
		"OnePod": {
			"Without an election.", "controllers: {replicaCount: 1, leaderElection: {enabled: false}}",
			[]string{"--replicas=1", "--leader-elect=false"},
			nil, "Deployment",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := render(t, tc.values).one(t, tc.kind+"/r-agentrun-controllers").DeepCopy()
			for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by"} {
				_, found, err := unstructured.NestedString(want.Object, "metadata", "labels", label)
				require.NoError(t, err)
				require.True(t, found, label)
				unstructured.RemoveNestedField(want.Object, "metadata", "labels", label)
			}
			cmd := exec.CommandContext(t.Context(), binary, append([]string{"manifests", "--release=r", "--namespace=ns"}, tc.args...)...)
			cmd.Env = tc.env
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			is := parse(t, string(out)).one(t, tc.kind+"/r-agentrun-controllers")
			assert.YAMLEq(t, typed(t, want), typed(t, is), tc.reason)
		})
	}
}

// typed is what a typed client sends of a workload: zero is unset to both.
func typed(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	var obj any
	if u.GetKind() == "Deployment" {
		obj = into[appsv1.Deployment](t, u)
	} else {
		obj = into[rollout.Rollout](t, u)
	}
	data, err := yaml.Marshal(obj)
	require.NoError(t, err)
	return string(data)
}
