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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/catalog"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestTheServicesSelectTheirPods: the metrics Service selects exactly the pods
// that reconcile, the other Service the pods of the control plane, and the
// ServiceMonitor the metrics Service.
//
//req:shows O1
func TestTheServicesSelectTheirPods(t *testing.T) {
	all := render(t, "metrics: {serviceMonitor: {enabled: true}}")
	monitor := all.one(t, "ServiceMonitor/r-agentrun")
	namespaces, _, err := unstructured.NestedStringSlice(monitor.Object, "spec", "namespaceSelector", "matchNames")
	require.NoError(t, err)
	assert.Equal(t, []string{"ns"}, namespaces)
	scraped, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	require.NoError(t, err)
	for name, reconciles := range map[string]bool{"r-agentrun": false, "r-agentrun-metrics": true} {
		service := into[corev1.Service](t, all.one(t, "Service/"+name))
		assert.Equal(t, reconciles, labels.SelectorFromSet(scraped).Matches(labels.Set(service.Labels)), name)
		for workload := range workloads {
			pod := into[appsv1.Deployment](t, all.one(t, "Deployment/"+workload)).Spec.Template
			c := pod.Spec.Containers[0]
			selected := labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
			assert.Equal(t, reconciles != slices.Contains(c.Args, "--reconcile=false"), selected, "%s and %s", name, workload)
			assert.Equal(t, service.Spec.Ports[0].TargetPort.StrVal, c.Ports[0].Name, workload)
		}
		if reconciles {
			assert.Equal(t, service.Spec.Ports[0].Name, endpoint(t, monitor)["port"])
			assert.Equal(t, "/metrics", endpoint(t, monitor)["path"])
		}
	}
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
	scraped := func(all objects) map[string]any { return endpoint(t, all.one(t, "ServiceMonitor/r-agentrun")) }
	assert.Equal(t, "https", scraped(on)["scheme"])
	assert.Equal(t, map[string]any{
		"ca": map[string]any{"secret": map[string]any{"name": "web-tls", "key": "ca.crt"}}, "serverName": "r-agentrun-metrics.ns.svc",
	}, scraped(on)["tlsConfig"], "as cert-manager fills it")
	own := render(t, "metrics: {tls: {secretName: web-tls}, serviceMonitor: {enabled: true, tlsConfig: {insecureSkipVerify: true}}}")
	assert.Equal(t, map[string]any{"insecureSkipVerify": true}, scraped(own)["tlsConfig"])

	_, err := template(t, "metrics: {tls: {secretName: web-tls}, serviceMonitor: {enabled: true, namespace: monitoring}}")
	require.ErrorContains(t, err, "metrics.serviceMonitor.tlsConfig", "the CA is not in that namespace")

	off := scraped(render(t, "metrics: {serviceMonitor: {enabled: true, tlsConfig: {insecureSkipVerify: true}}}"))
	assert.NotContains(t, off, "scheme")
	assert.NotContains(t, off, "tlsConfig")
}

// TestMonitor_ConnectsAsTheLibrarySays: a ServiceMonitor says what that of a
// new project of kubebuilder says, and a certificate is never verified without
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
		"ScaffoldWithCertificates": {
			"The same after the patch for cert-manager.", "tlsConfig: {serverName: a.example, ca: {secret: {name: own, key: ca.crt}}}, bearerTokenFile: " + tokenFile,
			manifest.Access{TLS: true, ServerName: "a.example", CA: manifest.SecretKey{Name: "own", Key: "ca.crt"}, TokenFile: tokenFile},
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

// TestDashboards: the text of the dashboard survives the templates to the byte,
// under a key and labels that Grafana's sidecar finds.
//
//req:shows O3
func TestDashboards(t *testing.T) {
	pack, err := manifest.New(target())
	require.NoError(t, err)
	config := into[corev1.ConfigMap](t, render(t, "metrics: {dashboards: {namespace: monitoring, annotations: {grafana_folder: Agents}}}").one(t, "ConfigMap/monitoring/ns.r-agentrun-dashboard-agentrun"))
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

// TestDashboards_StepIsTheIntervalOfTheMonitor: the panels have values at each
// interval.
//
//req:shows O3
func TestDashboards_StepIsTheIntervalOfTheMonitor(t *testing.T) {
	for interval, d := range map[string]time.Duration{"90s": 90 * time.Second, "1500ms": 1500 * time.Millisecond, "2m": 2 * time.Minute} {
		of := target()
		of.Interval = d
		pack, err := manifest.New(of)
		require.NoError(t, err)
		config := into[corev1.ConfigMap](t, render(t, "metrics: {serviceMonitor: {interval: "+interval+"}}").one(t, "ConfigMap/r-agentrun-dashboard-agentrun"))
		assert.Equal(t, strings.TrimSpace(string(pack.Dashboard())), config.Data[pack.UID()+".json"], interval)
	}
}

// TestAlerts: package manifest makes the alerts of a release for the release's
// namespace, and for the job that its ServiceMonitor scrapes.
//
//req:shows O3
func TestAlerts(t *testing.T) {
	all := render(t, "{fullnameOverride: agents, metrics: {serviceMonitor: {enabled: true}, prometheusRule: {enabled: true, labels: {release: prometheus}}}}")
	rule := all.one(t, "PrometheusRule/agents")
	assert.Equal(t, "prometheus", rule.GetLabels()["release"])
	of := target()
	of.Job, of.Namespace = relabel(t, all.one(t, "ServiceMonitor/agents"), discovered(nil))["job"], "ns"
	require.Equal(t, "agents", of.Job)
	pack, err := manifest.New(of)
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, yaml.Unmarshal(pack.Rules(), &want))
	assert.Equal(t, want, rule.Object["spec"])
}

// TestAlerts_AreEditedAsInTheLibrary: the values change severity, labels,
// threshold and duration of an alert, or leave it out, as Target.Edit does.
//
//req:shows O3
func TestAlerts_AreEditedAsInTheLibrary(t *testing.T) {
	rule := render(t, `{fullnameOverride: agents, metrics: {prometheusRule: {enabled: true, alerts: {
  ControllerReconcileErrors: {threshold: 0.25, for: 90s}, ControllerNoLeader: {severity: page, labels: {team: agents}},
  ControllerWorkerStuck: {threshold: 3600}, ControllerRestarts: {enabled: false}}}}}`).one(t, "PrometheusRule/agents")
	of := target()
	of.Job = "agents"
	of.Namespace = "ns"
	of.Edit = func(r *manifest.Rule) {
		switch r.Name {
		case "ControllerReconcileErrors":
			r.Threshold = 0.25
			r.For = 90 * time.Second
		case "ControllerNoLeader":
			r.Severity = "page"
			r.Labels = map[string]string{"team": "agents"}
		case "ControllerWorkerStuck":
			r.Threshold = 3600
		case "ControllerRestarts":
			r.Omit = true
		}
	}
	pack, err := manifest.New(of)
	require.NoError(t, err)
	body := strings.Replace(string(pack.Rules()), "for: 1m30s", "for: 90s", 1)
	var want map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(body), &want))
	assert.Equal(t, want, rule.Object["spec"])
}

// TestKeepLabels_ReachAlertsAndDashboard: the alerts and the dashboard of a
// release keep the labels of its values, as package manifest writes them.
//
//req:shows O3
func TestKeepLabels_ReachAlertsAndDashboard(t *testing.T) {
	all := render(t, "{fullnameOverride: agents, metrics: {keepLabels: [region, k8s_cluster], prometheusRule: {enabled: true}}}")
	of := target()
	of.Job = "agents"
	of.Namespace = "ns"
	of.KeepLabels = []string{"region", "k8s_cluster"}
	pack, err := manifest.New(of)
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, yaml.Unmarshal(pack.Rules(), &want))
	assert.Equal(t, want, all.one(t, "PrometheusRule/agents").Object["spec"])
	config := into[corev1.ConfigMap](t, all.one(t, "ConfigMap/agents-dashboard-agentrun"))
	assert.Equal(t, strings.TrimSpace(string(pack.Dashboard())), config.Data[pack.UID()+".json"])
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
	for key := range on {
		if _, kept := off[key]; !kept {
			assert.Contains(t, []string{"Service/r-agentrun-metrics", "ConfigMap/r-agentrun-dashboard-agentrun", "Pod/r-agentrun-test"}, key)
		} else {
			assert.Equal(t, on[key].Object, off[key].Object)
		}
	}
}
