// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/catalog"
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
		"KeepLabels": {
			"Two clusters stay two.", "keepLabels: [region, k8s_cluster]",
			func(of *manifest.Target) { of.KeepLabels = []string{"region", "k8s_cluster"} },
		},
		"Alerts": {
			"The values change an alert, or leave it out, as Target.Edit does.", `prometheusRule: {alerts: {
  ControllerReconcileErrors: {threshold: 0.25, for: 2m}, ControllerRestarts: {enabled: false},
  ControllerNoLeader: {severity: page, labels: {team: agents}}}}`,
			func(of *manifest.Target) { of.Edit = edit },
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

func edit(r *manifest.Rule) {
	switch r.Name {
	case "ControllerReconcileErrors":
		r.Threshold = 0.25
		r.For = 2 * time.Minute
	case "ControllerNoLeader":
		r.Severity = "page"
		r.Labels = map[string]string{"team": "agents"}
	case "ControllerRestarts":
		r.Omit = true
	}
}

// TestKeepLabels_AreThoseOfTheLibrary: the schema refuses a name where package
// manifest does.
func TestKeepLabels_AreThoseOfTheLibrary(t *testing.T) {
	names := []string{"cluster", "_site", "Region2", "", "2nd", "__site", "k8s-cluster", "namespace", "job", "instance", "pod", "le", "severity", "alertname", "otel_metric_overflow", "datasource"}
	for _, i := range catalog.Instruments().All() {
		names = append(names, i.Attributes...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := target()
			of.KeepLabels = []string{name}
			_, library := manifest.New(of)
			_, chart := template(t, "metrics: {keepLabels: ["+strconv.Quote(name)+"]}")
			if library == nil {
				assert.NoError(t, chart)
				return
			}
			require.ErrorContains(t, library, "Target.KeepLabels[0]")
			assert.ErrorContains(t, chart, "/metrics/keepLabels/0")
		})
	}
}
