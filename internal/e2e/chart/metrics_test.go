// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestTheMetricsServiceSelectsThePodsThatReconcile: exactly those, and the
// ServiceMonitor that Service, exactly.
//
//req:shows O1
func TestTheMetricsServiceSelectsThePodsThatReconcile(t *testing.T) {
	all := render(t, "metrics: {serviceMonitor: {enabled: true}}")
	metrics := into[corev1.Service](t, all.one(t, "Service/r-agentrun-metrics"))
	selected := labels.SelectorFromSet(metrics.Spec.Selector)
	var monitor struct {
		Spec struct {
			Selector          metav1.LabelSelector
			NamespaceSelector struct{ MatchNames []string }
			Endpoints         []map[string]any
		}
	}
	data, err := yaml.Marshal(all.one(t, "ServiceMonitor/r-agentrun").Object)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &monitor))
	scraped, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	require.NoError(t, err)

	reconciling := 0
	for key, u := range all {
		switch u.GetKind() {
		case "Deployment":
			d := into[appsv1.Deployment](t, u)
			c := d.Spec.Template.Spec.Containers[0]
			reconciles := !slices.Contains(c.Args, "--reconcile=false")
			assert.Equal(t, reconciles, selected.Matches(labels.Set(d.Spec.Template.Labels)), key)
			if reconciles {
				reconciling++
				target := metrics.Spec.Ports[0].TargetPort.StrVal
				assert.True(t, slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == target }), "the port %q of the pod", target)
			}
		case "Service":
			assert.Equal(t, key == "Service/r-agentrun-metrics", scraped.Matches(labels.Set(u.GetLabels())), key)
		}
	}
	assert.Equal(t, 1, reconciling)
	assert.Equal(t, []string{"ns"}, monitor.Spec.NamespaceSelector.MatchNames)
	require.Len(t, monitor.Spec.Endpoints, 1)
	assert.Equal(t, metrics.Spec.Ports[0].Name, monitor.Spec.Endpoints[0]["port"])
	assert.Equal(t, "/metrics", monitor.Spec.Endpoints[0]["path"])
}

// TestAScrapeSwitchReachesBothWorkloads: pods that are scraped by their
// annotations.
//
//req:shows O1
func TestAScrapeSwitchReachesBothWorkloads(t *testing.T) {
	want := map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080", "prometheus.io/path": "/metrics"}
	on := render(t, "metrics: {scrapeAnnotations: true}")
	off := render(t, "{}")
	for name := range workloads {
		assert.Equal(t, want, into[appsv1.Deployment](t, on.one(t, "Deployment/"+name)).Spec.Template.Annotations)
		assert.Empty(t, into[appsv1.Deployment](t, off.one(t, "Deployment/"+name)).Spec.Template.Annotations)
	}
}

// TestTLSReachesAllThatTalkToTheEndpoint: the program, its probes, the monitor
// and the annotations, of Deployments and Rollouts.
//
//req:shows O1
func TestTLSReachesAllThatTalkToTheEndpoint(t *testing.T) {
	on := render(t, "metrics: {tls: {secretName: web-tls}, scrapeAnnotations: true, serviceMonitor: {enabled: true}}")
	for name := range workloads {
		pod := into[appsv1.Deployment](t, on.one(t, "Deployment/"+name)).Spec.Template
		assert.Equal(t, "https", pod.Annotations["prometheus.io/scheme"])
		c := pod.Spec.Containers[0]
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
			assert.Equal(t, corev1.URISchemeHTTPS, probe.HTTPGet.Scheme, name)
		}
		require.Len(t, pod.Spec.Volumes, 1)
		assert.Equal(t, "web-tls", pod.Spec.Volumes[0].Secret.SecretName)
		require.Len(t, c.VolumeMounts, 1)
		assert.Equal(t, pod.Spec.Volumes[0].Name, c.VolumeMounts[0].Name)
		for _, want := range []string{"--metrics-tls-cert-file=", "--metrics-tls-key-file="} {
			assert.True(t, slices.ContainsFunc(c.Args, func(arg string) bool {
				return strings.HasPrefix(arg, want+c.VolumeMounts[0].MountPath+"/tls.")
			}), "%s %v", want, c.Args)
		}
	}
	endpoint := func(all objects) map[string]any {
		endpoints, _, err := unstructured.NestedSlice(all.one(t, "ServiceMonitor/r-agentrun").Object, "spec", "endpoints")
		require.NoError(t, err)
		return endpoints[0].(map[string]any)
	}
	assert.Equal(t, "https", endpoint(on)["scheme"])
	assert.Equal(t, map[string]any{
		"ca": map[string]any{"secret": map[string]any{"name": "web-tls", "key": "ca.crt"}}, "serverName": "r-agentrun-metrics.ns.svc",
	}, endpoint(on)["tlsConfig"], "as cert-manager fills it")
	own := render(t, "metrics: {tls: {secretName: web-tls}, serviceMonitor: {enabled: true, tlsConfig: {insecureSkipVerify: true}}}")
	assert.Equal(t, map[string]any{"insecureSkipVerify": true}, endpoint(own)["tlsConfig"])

	off := endpoint(render(t, "metrics: {serviceMonitor: {enabled: true, tlsConfig: {insecureSkipVerify: true}}}"))
	assert.NotContains(t, off, "scheme")
	assert.NotContains(t, off, "tlsConfig")
}

// TestDashboards: the text of the dashboard survives the templates to the byte,
// under a key and labels that Grafana's sidecar finds.
//
//req:shows O3
func TestDashboards(t *testing.T) {
	pack, err := manifest.New(target())
	require.NoError(t, err)
	config := into[corev1.ConfigMap](t, render(t, "metrics: {dashboards: {namespace: monitoring, annotations: {grafana_folder: Agents}}}").one(t, "ConfigMap/monitoring/r-agentrun-dashboard-agentrun"))
	assert.Equal(t, "1", config.Labels["grafana_dashboard"])
	assert.Equal(t, "Agents", config.Annotations["grafana_folder"])
	require.Len(t, config.Data, 1)
	assert.Equal(t, strings.TrimSpace(string(pack.Dashboard())), config.Data[pack.UID()+".json"])

	for _, values := range []string{"metrics: {dashboards: {enabled: false}}", "metrics: {enabled: false}"} {
		for key := range render(t, values) {
			assert.NotContains(t, key, "ConfigMap", values)
		}
	}
}

// TestAlerts: package manifest makes the alerts of a release for the release's
// job and namespace.
//
//req:shows O3
func TestAlerts(t *testing.T) {
	rule := render(t, "{fullnameOverride: agents, metrics: {prometheusRule: {enabled: true, labels: {release: prometheus}}}}").one(t, "PrometheusRule/agents")
	assert.Equal(t, "prometheus", rule.GetLabels()["release"])
	of := target()
	of.Job, of.Namespace = "agents", "ns"
	pack, err := manifest.New(of)
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, yaml.Unmarshal(pack.Rules(), &want))
	assert.Equal(t, want, rule.Object["spec"])
}

// TestTheJobOfTheAlertsIsTheOneThatIsScraped: or no alert would ever fire.
//
//req:shows O3
func TestTheJobOfTheAlertsIsTheOneThatIsScraped(t *testing.T) {
	all := render(t, "metrics: {serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}")
	data, err := yaml.Marshal(all.one(t, "ServiceMonitor/r-agentrun").Object)
	require.NoError(t, err)
	var monitor struct {
		Spec struct {
			Endpoints []struct{ Relabelings []map[string]any }
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &monitor))
	job := ""
	for _, r := range monitor.Spec.Endpoints[0].Relabelings {
		if r["targetLabel"] == "job" {
			job = r["replacement"].(string)
		}
	}
	require.NotEmpty(t, job)
	text, err := yaml.Marshal(all.one(t, "PrometheusRule/r-agentrun").Object)
	require.NoError(t, err)
	assert.Contains(t, string(text), `job="`+job+`"`)
	assert.NotContains(t, string(text), "release-")
}

// TestMonitorsNeedTheirCRDs: known to be missing, they are refused; without a
// cluster they are rendered.
//
//req:shows O1
func TestMonitorsNeedTheirCRDs(t *testing.T) {
	for kind, api := range map[string]string{"serviceMonitor": monitorAPI, "prometheusRule": ruleAPI} {
		values := "metrics: {" + kind + ": {enabled: true}}"
		_, err := template(t, values)
		require.NoError(t, err)
		_, err = template(t, values, clusterAPIs()...)
		require.ErrorContains(t, err, api)
		require.ErrorContains(t, err, "metrics."+kind+".enabled")
		_, err = template(t, values, append(clusterAPIs(), "--api-versions="+api)...)
		require.NoError(t, err)
	}
}

// TestMetricsOff: nothing of it is left, and the workloads are the same.
func TestMetricsOff(t *testing.T) {
	on, off := render(t, "{}"), render(t, "metrics: {enabled: false}")
	for key := range maps.Keys(on) {
		if _, kept := off[key]; !kept {
			assert.Contains(t, []string{"Service/r-agentrun-metrics", "ConfigMap/r-agentrun-dashboard-agentrun", "Pod/r-agentrun-test"}, key)
		} else {
			assert.Equal(t, on[key].Object, off[key].Object)
		}
	}
}
