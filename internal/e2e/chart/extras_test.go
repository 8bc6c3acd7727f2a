// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestChart_Extras: what people add to a pod arrives there, next to what the
// chart sets.
func TestChart_Extras(t *testing.T) {
	all := render(t, string(readChart(t, "ci/extras-values.yaml")))
	spec := into[appsv1.Deployment](t, all.one(t, "Deployment/r-agentrun-controllers")).Spec.Template.Spec
	require.Len(t, spec.Containers, 2)
	c := spec.Containers[0]
	assert.Equal(t, "images.example.com/agentrun-debug:1.2.3", c.Image)
	assert.Equal(t, corev1.PullAlways, c.ImagePullPolicy)
	assert.Equal(t, "--workers=8", c.Args[len(c.Args)-1], "last: it wins")
	assert.Equal(t, []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "more"}}},
		{Prefix: "S_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
	}, c.EnvFrom)
	vars := c.Env[len(c.Env)-2:]
	assert.Equal(t, &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "tokens"}, Key: "token"}, vars[0].ValueFrom.SecretKeyRef)
	assert.Equal(t, corev1.EnvVar{Name: "PLAIN", Value: "1"}, vars[1])
	assert.Equal(t, []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}, c.VolumeMounts)
	assert.Equal(t, "data", spec.Volumes[0].Name)
	assert.Equal(t, "wait", spec.InitContainers[0].Name)
	assert.Equal(t, "proxy", spec.Containers[1].Name)
	assert.EqualValues(t, 5, c.Lifecycle.PreStop.Sleep.Seconds)
	assert.EqualValues(t, 5, c.LivenessProbe.FailureThreshold)
	assert.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path)
	assert.EqualValues(t, 2, c.ReadinessProbe.PeriodSeconds)
	assert.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
	assert.EqualValues(t, 30, c.StartupProbe.FailureThreshold)
	assert.EqualValues(t, 1000, *spec.SecurityContext.RunAsUser)
	assert.EqualValues(t, 1000, *spec.SecurityContext.FSGroup)
	assert.True(t, *spec.SecurityContext.RunAsNonRoot, "other defaults stay")
	assert.False(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	assert.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
	selected := map[string]string{"app.kubernetes.io/name": "agentrun", "app.kubernetes.io/instance": "r", "app.kubernetes.io/component": "controllers"}
	require.Len(t, spec.TopologySpreadConstraints, 1)
	assert.Equal(t, selected, spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels, "without one it would spread nothing")

	role := into[rbacv1.Role](t, all.one(t, "Role/ns:r-agentrun-controllers"))
	assert.Equal(t, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}, role.Rules[len(role.Rules)-1])
	policy := into[networkingv1.NetworkPolicy](t, all.one(t, "NetworkPolicy/r-agentrun-controllers")).Spec
	assert.Equal(t, selected, policy.PodSelector.MatchLabels)
	assert.Equal(t, "monitoring", policy.Ingress[0].From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
	test := into[corev1.Pod](t, all.one(t, "Pod/r-agentrun-test"))
	assert.Subset(t, test.Labels, policy.Ingress[0].From[1].PodSelector.MatchLabels, "helm test reaches it too")
	assert.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, policy.PolicyTypes)
	all.one(t, "NetworkPolicy/r-agentrun")

	// The other workload has none of it.
	other := into[appsv1.Deployment](t, all.one(t, "Deployment/r-agentrun")).Spec.Template.Spec
	require.Len(t, other.Containers, 1)
	assert.Equal(t, "agentrun:0.1.0", other.Containers[0].Image)
	assert.Empty(t, other.Containers[0].EnvFrom)
	require.NotNil(t, other.Containers[0].LivenessProbe.TCPSocket)
	assert.Nil(t, other.Containers[0].LivenessProbe.HTTPGet, "a handler replaces the chart's")
	assert.Nil(t, other.Containers[0].StartupProbe)
}

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

// TestChart_Test: helm test asks the Service of the pods that reconcile.
func TestChart_Test(t *testing.T) {
	pod := into[corev1.Pod](t, render(t, "{}").one(t, "Pod/r-agentrun-test"))
	assert.Equal(t, "test", pod.Annotations["helm.sh/hook"])
	assert.Contains(t, pod.Spec.Containers[0].Args, "http://r-agentrun-metrics:8080/readyz")
	assert.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)
	assert.NotContains(t, pod.Labels, "app.kubernetes.io/name", "no Service and no workload selects it")
	for _, off := range []string{"test: {enabled: false}", "metrics: {enabled: false}", "metrics: {service: {enabled: false}}"} {
		assert.NotContains(t, render(t, off), "Pod/r-agentrun-test", off)
	}
	assert.NotContains(t, render(t, "metrics: {service: {enabled: false}}"), "Service/r-agentrun-metrics")
	assert.NotContains(t, render(t, "controlPlane: {service: {enabled: false}}"), "Service/r-agentrun")
}

// TestChart_TheValuesOfAnOlderChart: what charts of this shape call otherwise
// is refused with the name that it has here, and the rest is accepted.
func TestChart_TheValuesOfAnOlderChart(t *testing.T) {
	for values, want := range map[string]string{
		"controller: {jobTtlSeconds: 600}":                 "use controller.jobTtlSecondsAfterFinished instead",
		"controllers: {deploymentStrategy: {maxSurge: 1}}": "use controllers.strategy instead",
		"controllers: {enabled: true}":                     "the controllers are always rendered",
		"deploymentStrategy: {type: RollingUpdate}":        "use controllers.strategy and controlPlane.strategy instead",
		"replicaCount: 2":                                  "use controllers.replicaCount and controlPlane.replicaCount instead",
		"podAnnotations: {a: b}":                           "use controllers.podAnnotations and controlPlane.podAnnotations instead",
		"livenessProbe: {httpGet: {path: /health}}":        "use controllers.livenessProbe and controlPlane.livenessProbe instead",
		"leaderElection: {enabled: false}":                 "use controllers.leaderElection instead",
		"service: {port: 80}":                              "use controlPlane.service instead",
		"podDisruptionBudget: {enabled: true}":             "use controllers.podDisruptionBudget and controlPlane.podDisruptionBudget instead",
		"extraRules: []":                                   "use rbac.extraRules instead",
		"autoscaling: {enabled: true}":                     "use controllers.autoscaling and controlPlane.autoscaling instead",
		"volumes: []":                                      "use controllers.extraVolumes and controlPlane.extraVolumes instead",
		"controllers: {volumeMounts: []}":                  "use controllers.extraVolumeMounts instead",
		"controlPlane: {args: []}":                         "use controlPlane.extraArgs instead",
		"topologySpreadConstraints: []":                    "use controllers.topologySpreadConstraints and controlPlane.topologySpreadConstraints instead",
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
