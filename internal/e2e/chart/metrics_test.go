// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/mixin"
)

// TestPack_IsTheLibrarys: a release has the dashboard and the alerts of
// metrics/mixin, for its job, its namespace and its version.
//
//req:shows O3
func TestPack_IsTheLibrarys(t *testing.T) {
	const namespace = "my-release-namespace"
	all := render(t, "{fullnameOverride: agents, metrics: {serviceMonitor: {interval: 90s}}}", "--set=metrics.prometheusRule.enabled=true", "--namespace="+namespace)
	alerts, err := mixin.Alerts("agents", namespace, "v0.1.0")
	require.NoError(t, err)
	var rules map[string]any
	require.NoError(t, yaml.Unmarshal(alerts, &rules))
	assert.Equal(t, rules, all.one(t, "PrometheusRule/"+namespace+"/agents").Object["spec"])
	config := into[corev1.ConfigMap](t, all.one(t, "ConfigMap/"+namespace+"/agents-dashboard-controllers"))
	assert.Equal(t, "1", config.Labels["grafana_dashboard"], "Grafana's sidecar looks for it")
	dashboard := strings.ReplaceAll(strings.TrimSpace(string(mixin.Dashboard())), `"interval": "30s"`, `"interval": "90s"`)
	assert.Equal(t, map[string]string{"controllerkit.json": dashboard}, config.Data, "the panels have values at each interval")
}
