// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChart_ImageOfAWorkload: a tag or a digest of a workload replaces both of
// the global image.
func TestChart_ImageOfAWorkload(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for values, want := range map[string]string{
		"{}":                             "agentrun:0.1.0",
		"image: {repository: a, tag: b}": "a:b",
		"{image: {repository: a, digest: '" + digest + "'}}":                               "a@" + digest,
		"{image: {digest: '" + digest + "'}, controllers: {image: {tag: c}}}":              "agentrun:c",
		"{image: {repository: a, tag: b}, controllers: {image: {repository: c}}}":          "c:b",
		"{image: {repository: a, tag: b}, controllers: {image: {digest: " + digest + "}}}": "a@" + digest,
	} {
		c, _ := render(t, values).container(t, "r-agentrun-controllers")
		assert.Equal(t, want, c.Image, values)
	}
}

// TestChart_TheValuesOfAnOlderChart: what charts of this shape call otherwise
// is refused with the name that it has here, and the rest is accepted.
func TestChart_TheValuesOfAnOlderChart(t *testing.T) {
	for values, want := range map[string]string{
		"controller: {jobTtlSeconds: 600}":                 "use controller.jobTtlSecondsAfterFinished instead",
		"controllers: {deploymentStrategy: {maxSurge: 1}}": "use controllers.strategy instead",
		"controllers: {enabled: true}":                     "the controllers are always rendered",
		"deploymentStrategy: {type: RollingUpdate}":        "use controllers.strategy and controlPlane.strategy instead",
		"rbac: {clusterScoped: false}":                     "use controller.allNamespaces instead",
		"argocdHooks: {ttlSecondsAfterFinished: 300}":      "the chart has no hooks of Argo CD",
		"ingress: {enabled: true}":                         "make one for the Service of the control plane",
	} {
		_, err := template(t, values)
		require.ErrorContains(t, err, want, values)
	}
	render(t, `
controller: {jobTtlSecondsAfterFinished: 86400, agentRunRetentionSeconds: 604800, logRetentionSeconds: 604800}
controllers:
  replicaCount: 2
  env: {vars: {AGENTS_AGENT_RUNNER_JOB_TTL_SECONDS: "86400"}}
  livenessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 20}
  readinessProbe: {timeoutSeconds: 5}
env: {vars: {LOG_LEVEL: info}}
metrics:
  enabled: true
  path: /metrics
  service: {enabled: true, type: ClusterIP, port: 9090, annotations: {}, labels: {}}
  serviceMonitor: {enabled: false, namespace: "", interval: 30s, scrapeTimeout: 10s, honorLabels: false, labels: {}, annotations: {}, relabelings: [], metricRelabelings: []}
  dashboards: {enabled: true, annotations: {}, labels: {grafana_dashboard: "1"}}
rbac: {create: true, extraRules: [{apiGroups: [apps], resources: [deployments], verbs: [get, list]}]}
`)
}
