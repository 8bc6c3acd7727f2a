// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
)

// TestWorkload_IsWhatAgentrunPrints: the chart's Rollout equals the output of
// "agentrun manifests" for the chart's Deployment.
//
//req:shows A1 R1 R2
func TestWorkload_IsWhatAgentrunPrints(t *testing.T) {
	binary := imageProgram(t)
	cases := map[string]struct {
		reason string
		values string
		env    []string
		kind   string
	}{
		"Deployment": {"Off by default.", "{}", nil, "Deployment"},
		"Canary": {
			"One switch makes it the safe canary.", "progressiveDelivery: {enabled: true}",
			[]string{"JANGAR_PROGRESSIVE_DELIVERY_ENABLED=true"}, "Rollout",
		},
		"Steps": {
			"Steps of both forms.",
			"progressiveDelivery: {enabled: true, canarySteps: [{setWeight: 10}, {pause: {duration: 10m}}, {setWeight: 50}, {pause: {}}]}",
			[]string{
				"JANGAR_PROGRESSIVE_DELIVERY_ENABLED=true",
				`JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS=[{"setWeight":10},{"pause":{"duration":"10m"}},{"setWeight":50},{"pause":{}}]`,
			},
			"Rollout",
		},
	}
	deployment, err := yaml.Marshal(render(t, "{}").one(t, "Deployment/r-agentrun-controllers"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "deployment.yaml")
	require.NoError(t, os.WriteFile(file, deployment, 0o600))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := render(t, tc.values).one(t, tc.kind+"/r-agentrun-controllers")
			cmd := exec.CommandContext(t.Context(), binary, "manifests", file)
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
