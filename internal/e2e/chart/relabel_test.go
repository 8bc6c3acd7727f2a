// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"
)

// TestTheMonitorTellsACanaryFromTheStablePods: by the label pod_template_hash,
// which every pod gets from the controller that made its ReplicaSet. Both
// controllers give the same label, so that a query holds before and after the
// switch.
//
//req:shows O3
func TestTheMonitorTellsACanaryFromTheStablePods(t *testing.T) {
	const hash, rolloutsHash = "pod-template-hash", "rollouts-pod-template-hash"
	cases := map[string]struct {
		reason string
		pod    map[string]string
		want   string
	}{
		"Deployment": {"The label of a Deployment's ReplicaSets.", map[string]string{hash: "6c9f"}, "6c9f"},
		"Stable":     {"A pod of a Rollout has its hash.", map[string]string{rolloutsHash: "7d4b"}, "7d4b"},
		"Canary":     {"The hash differs from the stable pods'.", map[string]string{rolloutsHash: "58fc"}, "58fc"},
		"Undone":     {"An undo to an adopted ReplicaSet brings the old label along: still a distinct value.", map[string]string{hash: "6c9f", rolloutsHash: "9b2e"}, "9b2e6c9f"},
		"None":       {"A pod that nothing of the two made has no such label.", nil, ""},
	}
	monitor := render(t, "metrics: {serviceMonitor: {enabled: true}}").one(t, "ServiceMonitor/r-agentrun")
	seen := map[string]string{}
	for name, tc := range cases {
		got := relabel(t, monitor, discovered(tc.pod))
		assert.Equal(t, tc.want, got["pod_template_hash"], "%s: %s", name, tc.reason)
		assert.Equal(t, "r-agentrun", got["job"], name)
		assert.NotContains(t, seen, got["pod_template_hash"], name)
		seen[got["pod_template_hash"]] = name
	}
}

// TestRelabelingsOfTheUserComeLast: they see what the chart's own made, and may
// change it.
func TestRelabelingsOfTheUserComeLast(t *testing.T) {
	all := render(t, `metrics: {serviceMonitor: {enabled: true, relabelings: [{sourceLabels: [job, pod_template_hash], targetLabel: version}, {targetLabel: job, replacement: mine}]}}`)
	got := relabel(t, all.one(t, "ServiceMonitor/r-agentrun"), discovered(map[string]string{"rollouts-pod-template-hash": "58fc"}))
	assert.Equal(t, "r-agentrun;58fc", got["version"])
	assert.Equal(t, "mine", got["job"])
}

// endpoint is the only endpoint of a ServiceMonitor.
func endpoint(t *testing.T, monitor *unstructured.Unstructured) map[string]any {
	t.Helper()
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	require.NoError(t, err)
	require.Len(t, endpoints, 1)
	return endpoints[0].(map[string]any)
}

// discovered are the labels under which Prometheus finds a pod: the pod's
// labels, with underscores for characters that a Prometheus label cannot have.
func discovered(pod map[string]string) map[string]string {
	found := map[string]string{"job": "serviceMonitor/ns/r-agentrun/0"}
	for key, value := range pod {
		found["__meta_kubernetes_pod_label_"+regexp.MustCompile("[^a-zA-Z0-9_]").ReplaceAllString(key, "_")] = value
	}
	return found
}

// relabeling has the fields of a rule that are known here.
type relabeling struct {
	Action, Separator, Regex, Replacement, TargetLabel string
	SourceLabels                                       []string
}

// relabel does what Prometheus does for the action replace, with its defaults:
// the source labels, missing ones empty, joined by ";", are matched as a whole
// against "(.*)", and the target label becomes "$1"; an empty value removes the
// label.
func relabel(t *testing.T, monitor *unstructured.Unstructured, labels map[string]string) map[string]string {
	t.Helper()
	for _, rule := range endpoint(t, monitor)["relabelings"].([]any) {
		text, err := yaml.Marshal(rule)
		require.NoError(t, err)
		r := relabeling{Action: "replace", Separator: ";", Regex: "(.*)", Replacement: "$1"}
		require.NoError(t, yaml.UnmarshalStrict(text, &r))
		require.Equal(t, "replace", r.Action)
		require.Regexp(t, "^[a-zA-Z_][a-zA-Z0-9_]*$", r.TargetLabel)
		var values []string
		for _, source := range r.SourceLabels {
			values = append(values, labels[source])
		}
		joined := strings.Join(values, r.Separator)
		pattern := regexp.MustCompile("^(?s:" + r.Regex + ")$")
		if match := pattern.FindStringSubmatchIndex(joined); match != nil {
			labels[r.TargetLabel] = string(pattern.ExpandString(nil, r.Replacement, joined, match))
		}
	}
	maps.DeleteFunc(labels, func(key, value string) bool { return value == "" || strings.HasPrefix(key, "__") })
	return labels
}
