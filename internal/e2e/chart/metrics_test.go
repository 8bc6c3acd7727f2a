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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/catalog"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestMonitor_ConnectsAsTheLibrarySays: a ServiceMonitor has the settings of
// a new project of kubebuilder, and a certificate is never verified without
// a name.
//
//req:shows O1
func TestMonitor_ConnectsAsTheLibrarySays(t *testing.T) {
	const service = "r-agentrun-metrics.ns.svc"
	const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	cases := map[string]struct {
		reason  string
		monitor string
		access  manifest.Access
	}{
		"Scaffold": {
			"The ServiceMonitor of a new project.", "tlsConfig: {insecureSkipVerify: true}, bearerTokenFile: " + tokenFile,
			manifest.Access{TLS: true, InsecureSkipVerify: true, TokenFile: tokenFile},
		},
		"AuthorityWithoutName": {
			"The address is a pod's, which no certificate names: the name is the Service's.", "tlsConfig: {ca: {secret: {name: own, key: ca.crt}}}",
			manifest.Access{TLS: true, ServerName: service, CA: manifest.SecretKey{Name: "own", Key: "ca.crt"}},
		},
		"Authorization": {
			"A token from a Secret.", "authorization: {type: Bearer, credentials: {name: scrape, key: token}}",
			manifest.Access{TLS: true, ServerName: service, CA: manifest.SecretKey{Name: "web-tls", Key: "ca.crt"}, Token: manifest.SecretKey{Name: "scrape", Key: "token"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := target()
			of.Access = tc.access
			pack, err := manifest.New(of)
			require.NoError(t, err)
			library := unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal(pack.ServiceMonitor(), &library.Object))
			chart := render(t, "metrics: {tls: {secretName: web-tls}, serviceMonitor: {enabled: true, "+tc.monitor+"}}").one(t, "ServiceMonitor/r-agentrun")
			for _, field := range []string{"scheme", "tlsConfig", "authorization", "bearerTokenFile"} {
				assert.Equal(t, endpoint(t, &library)[field], endpoint(t, chart)[field], "%s: %s", field, tc.reason)
			}
		})
	}
}

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
			all := render(t, values, "--set=metrics.prometheusRule.enabled=true")
			of := target()
			of.Job = "agents"
			of.Namespace = "ns"
			tc.change(&of)
			pack, err := manifest.New(of)
			require.NoError(t, err)
			var rules map[string]any
			require.NoError(t, yaml.Unmarshal(pack.Rules(), &rules))
			assert.Equal(t, rules, all.one(t, "PrometheusRule/agents").Object["spec"], tc.reason)
			config := into[corev1.ConfigMap](t, all.one(t, "ConfigMap/agents-dashboard-agentrun"))
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

// endpoint is the only endpoint of a ServiceMonitor.
func endpoint(t *testing.T, monitor *unstructured.Unstructured) map[string]any {
	t.Helper()
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	require.NoError(t, err)
	require.Len(t, endpoints, 1)
	return endpoints[0].(map[string]any)
}
