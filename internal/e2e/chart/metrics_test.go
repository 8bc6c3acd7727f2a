// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestPack_IsTheLibrarys: package manifest makes the dashboard and the alerts
// of a release, with the same settings, for the release's namespace and job.
//
//req:shows O3
func TestPack_IsTheLibrarys(t *testing.T) {
	cases := map[string]struct {
		reason string
		values string
		change func(*manifest.Target)
	}{
		"Defaults": {"The names of the release.", "", func(*manifest.Target) {}},
		"Interval": {
			"The panels have values at each interval.", "serviceMonitor: {interval: 90s}",
			func(of *manifest.Target) { of.Interval = 90 * time.Second },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values := "{fullnameOverride: agents, metrics: {" + tc.values + "}}"
			// The files have placeholders for the names of a release.
			const namespace = "my-release-namespace"
			all := render(t, values, "--set=metrics.prometheusRule.enabled=true", "--namespace="+namespace)
			of := target()
			of.Job = "agents"
			of.Namespace = namespace
			tc.change(&of)
			pack, err := manifest.New(of)
			require.NoError(t, err)
			var rules map[string]any
			require.NoError(t, yaml.Unmarshal(pack.Rules(), &rules))
			assert.Equal(t, rules, all.one(t, "PrometheusRule/"+namespace+"/agents").Object["spec"], tc.reason)
			config := into[corev1.ConfigMap](t, all.one(t, "ConfigMap/"+namespace+"/agents-dashboard-agentrun"))
			assert.Equal(t, "1", config.Labels["grafana_dashboard"], "Grafana's sidecar looks for it")
			assert.Equal(t, map[string]string{pack.UID() + ".json": strings.TrimSpace(string(pack.Dashboard()))}, config.Data, tc.reason)
		})
	}
}
