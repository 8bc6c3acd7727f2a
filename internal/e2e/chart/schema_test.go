// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/manifest"
	"github.com/proompteng/controllerkit/rollout/settings"
)

// TestBadValuesAreRefused: each row is refused, and what helm prints leads to
// it.
//
//req:shows J1 R1
func TestBadValuesAreRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		values string
		says   []string
	}{
		"Unknown":               {"Every object is closed.", "replicas: {}", []string{"replicas"}},
		"UnknownDeep":           {"Deep down as well.", "metrics: {serviceMonitor: {intervall: 30s}}", []string{"/metrics/serviceMonitor", "intervall"}},
		"UnknownAction":         {"The CRD would drop it.", "progressiveDelivery: {canarySteps: [{setWieght: 20}, {pause: {}}]}", []string{"/progressiveDelivery/canarySteps"}},
		"PauseOverflow":         {"More than the controller counts.", "progressiveDelivery: {canarySteps: [{setWeight: 20}, {pause: {duration: 1000000h}}]}", []string{"/progressiveDelivery/canarySteps"}},
		"StepsOfWorkload":       {"A workload's own steps are checked as well.", "controllers: {progressiveDelivery: {canarySteps: [{setWeight: 20}]}}", []string{"/controllers/progressiveDelivery/canarySteps"}},
		"BothFences0":           {"No pod could be replaced.", "controllers: {strategy: {maxSurge: 0, maxUnavailable: 0}}", []string{"/controllers/strategy"}},
		"FenceString":           {`The controller takes "1" for 1%.`, `controllers: {strategy: {maxSurge: "1"}}`, []string{"/controllers/strategy/maxSurge"}},
		"FenceOver100":          {"More than there are.", `controllers: {strategy: {maxUnavailable: "101%"}}`, []string{"/controllers/strategy/maxUnavailable"}},
		"TTLTooShort":           {"The controller would raise it to 30.", "controller: {jobTtlSecondsAfterFinished: 10}", []string{"/controller/jobTtlSecondsAfterFinished"}},
		"TTLString":             {"10m never becomes 10.", "controller: {jobTtlSecondsAfterFinished: 10m}", []string{"/controller/jobTtlSecondsAfterFinished"}},
		"TTLConflict":           {"The two name one thing.", "controller: {jobTtlSecondsAfterFinished: 600, jobTTLSeconds: 700}", []string{"jobTtlSecondsAfterFinished is 600", "jobTTLSeconds is 700"}},
		"RetentionNegative":     {"0 keeps.", "controller: {agentRunRetentionSeconds: -1}", []string{"/controller/agentRunRetentionSeconds"}},
		"RetentionOf30":         {"Meant as days; the controller would refuse it at its start.", "controller: {agentRunRetentionSeconds: 30}", []string{"/controller/agentRunRetentionSeconds"}},
		"EventRate":             {"What the controller would refuse at its start.", "controller: {events: {rateLimitPerMinute: 0}}", []string{"/controller/events/rateLimitPerMinute"}},
		"Namespace":             {"No name of a namespace.", "controller: {namespaces: [Team_A]}", []string{"/controller/namespaces"}},
		"EnvNumber":             {"2592000 would become 2.592e+06.", "env: {vars: {SECONDS: 2592000}}", []string{"/env/vars/SECONDS"}},
		"PDBBoth":               {"Kubernetes refuses both.", "controllers: {podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}}", []string{"controllers.podDisruptionBudget has minAvailable 1 and maxUnavailable 1", "set the other to null"}},
		"HPANothing":            {"There would be nothing to scale by.", "controllers: {autoscaling: {enabled: true, targetCPUUtilizationPercentage: null}}", []string{"controllers", "autoscaling"}},
		"NullFence":             {"Helm drops null, and a number is required.", "controllers: {strategy: {maxSurge: null}}", []string{"/controllers/strategy", "maxSurge"}},
		"VariableTwice":         {"The CRD of Rollouts refuses it.", "controllers: {extraEnv: [{name: A, value: b}, {name: A, value: c}]}", []string{"controllers.extraEnv[1].name is A"}},
		"VariableOfTheChart":    {"The CRD of Rollouts refuses it.", "{env: {vars: {A: b}}, controllers: {extraEnv: [{name: A, value: c}]}}", []string{"controllers.extraEnv[0].name is A"}},
		"HashLabel":             {"Pods of a Rollout do not have it.", "controllers: {progressiveDelivery: {enabled: true, crdCheck: skip}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [pod-template-hash]}]}", []string{"controllers.topologySpreadConstraints", "rollouts-pod-template-hash"}},
		"CRDNotFound":           {"Helm cannot know.", "controllers: {progressiveDelivery: {enabled: true, crdCheck: fail}}", []string{"needs argoproj.io/v1alpha1/Rollout, which helm cannot look for without a cluster: install it first"}},
		"Weight100Early":        {"Everything would be replaced before the next step.", "progressiveDelivery: {canarySteps: [{setWeight: 20}, {setWeight: 100}, {pause: {}}]}", []string{"canarySteps[1].setWeight is 100"}},
		"HPAReversed":           {"The API server would refuse it.", "controllers: {autoscaling: {enabled: true, minReplicas: 9, maxReplicas: 2}}", []string{"controllers.autoscaling.minReplicas is 9"}},
		"Interval":              {"Not a duration of Prometheus.", "metrics: {serviceMonitor: {interval: soon}}", []string{"/metrics/serviceMonitor/interval"}},
		"Interval3m":            {"The alerts' rates look back 5m.", "metrics: {serviceMonitor: {interval: 3m}}", []string{"/metrics/serviceMonitor/interval"}},
		"TokenInTheClear":       {"Everyone on the way reads it.", "metrics: {serviceMonitor: {enabled: true, bearerTokenFile: /token}}", []string{"metrics.serviceMonitor.bearerTokenFile needs metrics.tls.secretName"}},
		"SecretInTheClear":      {"Everyone on the way reads it.", "metrics: {serviceMonitor: {enabled: true, authorization: {credentials: {name: a, key: b}}}}", []string{"metrics.serviceMonitor.authorization needs metrics.tls.secretName"}},
		"TwoTokens":             {"Prometheus Operator refuses both.", "metrics: {tls: {secretName: a}, serviceMonitor: {enabled: true, bearerTokenFile: /token, authorization: {credentials: {name: a, key: b}}}}", []string{"metrics.serviceMonitor has bearerTokenFile and authorization; want one of them"}},
		"AuthorizationUnknown":  {"A secret in the values would be in the release.", "metrics: {serviceMonitor: {authorization: {credentials: s3cret}}}", []string{"/metrics/serviceMonitor/authorization/credentials"}},
		"AuthorizationBasic":    {"Prometheus refuses it here.", "metrics: {serviceMonitor: {authorization: {type: Basic, credentials: {name: a, key: b}}}}", []string{"/metrics/serviceMonitor/authorization/type"}},
		"KeepLabelName":         {"No name in a query.", "metrics: {keepLabels: [k8s-cluster]}", []string{"/metrics/keepLabels/0"}},
		"KeepLabelNone":         {"Two clusters would be one.", "metrics: {keepLabels: []}", []string{"/metrics/keepLabels"}},
		"MonitorWithoutMetrics": {"It would select nothing.", "metrics: {enabled: false, serviceMonitor: {enabled: true}}", []string{"metrics.serviceMonitor.enabled needs metrics.enabled"}},
		"AlertUnknown":          {"It would change nothing.", "metrics: {prometheusRule: {enabled: true, alerts: {ControllerSlow: {enabled: false}}}}", []string{"metrics.prometheusRule.alerts has ControllerSlow, which is not an alert; want one of ControllerTargetAbsent, "}},
		"AlertSeverityLabel":    {"It has a separate value.", "metrics: {prometheusRule: {alerts: {ControllerNoLeader: {labels: {severity: page}}}}}", []string{"invalid propertyName 'severity'"}},
		"TwoWithoutElection":    {"Two would reconcile.", "controllers: {leaderElection: {enabled: false}}", []string{"controllers.leaderElection.enabled is false"}},
		"CanaryWithoutElection": {"A canary would reconcile next to the old version.", "controllers: {replicaCount: 1, leaderElection: {enabled: false}, progressiveDelivery: {enabled: true, crdCheck: skip}}", []string{"controllers.leaderElection.enabled is false"}},
		"CanaryWithoutSurge":    {"At some counts no new pod would run.", "controllers: {strategy: {maxSurge: 0, maxUnavailable: 1}, progressiveDelivery: {enabled: true, crdCheck: skip}}", []string{"controllers.strategy.maxSurge is 0"}},
		"CanaryOfNothing":       {"No pod, nothing to test.", "controllers: {replicaCount: 0, progressiveDelivery: {enabled: true, crdCheck: skip}}", []string{"controllers.replicaCount is 0"}},
		"Deadline":              {"A Deployment is refused then, a Rollout ends as InvalidSpec.", "controllers: {minReadySeconds: 600}", []string{"controllers.progressDeadlineSeconds is 600"}},
		"Grace":                 {"Less than the controller takes to finish.", "terminationGracePeriodSeconds: 29", []string{"/terminationGracePeriodSeconds"}},
		"SelectorLabel":         {"The selector would no longer match.", "controllers: {podLabels: {app.kubernetes.io/component: x}}", []string{"/controllers/podLabels"}},
		"Digest":                {"No digest.", "image: {digest: sha256:abc}", []string{"/image/digest"}},
		"TLSElsewhere":          {"The CA is not in that namespace.", "metrics: {tls: {secretName: web-tls}, serviceMonitor: {enabled: true, namespace: monitoring}}", []string{"metrics.serviceMonitor.tlsConfig"}},
		"AllAndSome":            {"One of them.", "controller: {allNamespaces: true, namespaces: [a]}", []string{"controller.allNamespaces is true and controller.namespaces is a: set one of them"}},
		"Quantity":              {"The API server would refuse it.", "controllers: {resources: {limits: {memory: 1 Gi}}}", []string{"/controllers/resources/limits/memory"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := template(t, tc.values, "--api-versions="+monitorAPI, "--api-versions="+ruleAPI)
			require.Error(t, err, tc.reason)
			for _, part := range tc.says {
				assert.ErrorContains(t, err, part, tc.reason)
			}
		})
	}
}

// TestNullIsUnset: so it is with Helm, and an empty list or object says the
// same. A variable of extraEnv replaces the chart's own.
func TestNullIsUnset(t *testing.T) {
	const null = "{annotations: null, podAnnotations: null, podLabels: null, resources: null, nodeSelector: null, tolerations: null, affinity: null, topologySpreadConstraints: null, " +
		"extraArgs: null, extraEnv: null, envFrom: null, initContainers: null, extraContainers: null, extraVolumes: null, extraVolumeMounts: null, lifecycle: null, " +
		"livenessProbe: null, readinessProbe: null, startupProbe: null, podSecurityContext: null, securityContext: null}"
	all := render(t, "{controllers: "+null+", controlPlane: "+null+"}")
	for _, name := range []string{"Deployment/r-agentrun", "Deployment/r-agentrun-controllers"} {
		spec, found, err := unstructured.NestedMap(all.one(t, name).Object, "spec", "template", "spec")
		require.NoError(t, err)
		require.True(t, found)
		assert.NotContains(t, spec, "nodeSelector")
	}
	out, err := template(t, "controllers: {extraEnv: [{name: POD_NAME, value: fixed}]}")
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(out, "name: POD_NAME\n"), "once in each workload")
}

// TestTheIntervalsThatTheAlertsBear: as many as package manifest takes, in each
// unit.
func TestTheIntervalsThatTheAlertsBear(t *testing.T) {
	for _, interval := range []string{"500ms", "99999ms", "119999ms", "120000ms", "1s", "30s", "99s", "119s", "120s", "1m", "2m"} {
		d, err := time.ParseDuration(interval)
		require.NoError(t, err)
		_, err = manifest.New(manifest.Target{Name: "agentrun", Interval: d})
		require.NoError(t, err, interval)
		_, err = template(t, "metrics: {serviceMonitor: {interval: "+interval+"}}")
		assert.NoError(t, err, interval)
	}
}

// TestTheScrapeTimeoutFits: Prometheus Operator drops a monitor whose timeout
// is longer than its interval. Without a timeout Prometheus takes the shorter
// of its global scrape_timeout and the interval.
func TestTheScrapeTimeoutFits(t *testing.T) {
	const monitor = "metrics: {serviceMonitor: {enabled: true, interval: 5s%s}}"
	timeout := func(value string) any {
		return endpoint(t, render(t, fmt.Sprintf(monitor, value)).one(t, "ServiceMonitor/r-agentrun"))["scrapeTimeout"]
	}
	assert.Nil(t, timeout(""))
	assert.Equal(t, "5000ms", timeout(", scrapeTimeout: 5000ms"))
	_, err := template(t, fmt.Sprintf(monitor, ", scrapeTimeout: 10s"))
	require.ErrorContains(t, err, "metrics.serviceMonitor.scrapeTimeout is 10s; want at most the interval, 5s")
}

// TestTheSchemaAgreesWithTheSettings: package rollout/settings reads the same
// values. What the chart takes it takes, and what it refuses the chart refuses.
func TestTheSchemaAgreesWithTheSettings(t *testing.T) {
	cases := map[string]struct {
		reason string
		values string
		good   bool
	}{
		"Safe":        {"The default.", "{enabled: true, canarySteps: [{setWeight: 20}, {pause: {}}]}", true},
		"Empty":       {"Means the default.", "{enabled: true, canarySteps: []}", true},
		"Times":       {"Seconds and Go durations.", "{enabled: true, canarySteps: [{setWeight: 1}, {pause: {duration: 1}}, {setWeight: 99}, {pause: {duration: 1h30m}}, {pause: {duration: 90s}}]}", true},
		"LongTime":    {"A number that YAML may write as 2.592e+06.", "{enabled: true, canarySteps: [{setWeight: 20}, {pause: {duration: 2592000}}]}", true},
		"Off":         {"Steps are checked while the switch is off.", "{enabled: false, canarySteps: [{setWeight: 200}, {pause: {}}]}", false},
		"Weight0":     {"Nothing is tested.", "{enabled: true, canarySteps: [{setWeight: 0}, {pause: {}}]}", false},
		"LastIs100":   {"The weight is 100 at the end in any case.", "{enabled: true, canarySteps: [{setWeight: 20}, {pause: {}}, {setWeight: 100}]}", true},
		"EarlyIs100":  {"Everything is replaced before the pause.", "{enabled: true, canarySteps: [{setWeight: 20}, {setWeight: 100}, {pause: {}}]}", false},
		"NoPause":     {"No step waits.", "{enabled: true, canarySteps: [{setWeight: 20}]}", false},
		"PauseFirst":  {"Nothing runs yet.", "{enabled: true, canarySteps: [{pause: {}}, {setWeight: 20}]}", false},
		"TwoActions":  {"One action a step.", "{enabled: true, canarySteps: [{setWeight: 20, pause: {}}]}", false},
		"Zero":        {"No pause.", "{enabled: true, canarySteps: [{setWeight: 20}, {pause: {duration: 0s}}]}", false},
		"Millis":      {"Cut to 0.", "{enabled: true, canarySteps: [{setWeight: 20}, {pause: {duration: 500ms}}]}", false},
		"Days":        {"Go has none.", "{enabled: true, canarySteps: [{setWeight: 20}, {pause: {duration: 1d}}]}", false},
		"Provider":    {"There is one.", "{enabled: true, provider: flagger}", false},
		"CRDCheck":    {"Three values.", "{enabled: true, crdCheck: maybe}", false},
		"Keep":        {"A boolean.", "{enabled: true, keepOnSwitch: 1}", false},
		"EnabledWord": {"A boolean.", "{enabled: on-demand}", false},
		"Unknown":     {"Closed.", "{enabled: true, steps: []}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(tc.values), &m))
			_, errs := settings.FromValues(m)
			assert.Equal(t, tc.good, len(errs) == 0, "%s %v", tc.reason, errs)
			for _, values := range []string{"progressiveDelivery: " + tc.values, "controllers: {progressiveDelivery: " + tc.values + "}"} {
				_, err := template(t, values)
				assert.Equal(t, tc.good, err == nil, "%s %v", tc.reason, err)
			}
		})
	}
}
