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
	rules := relabelings(t, "metrics: {serviceMonitor: {enabled: true}}")
	seen := map[string]string{}
	for name, tc := range cases {
		got := relabel(t, rules, discovered(tc.pod))
		assert.Equal(t, tc.want, got["pod_template_hash"], "%s: %s", name, tc.reason)
		assert.Equal(t, "r-agentrun", got["job"], name)
		assert.NotContains(t, seen, got["pod_template_hash"], name)
		seen[got["pod_template_hash"]] = name
	}
}

// TestRelabelingsOfTheUserComeLast: they see what the chart's own made, and may
// change it.
func TestRelabelingsOfTheUserComeLast(t *testing.T) {
	rules := relabelings(t, `metrics: {serviceMonitor: {enabled: true, relabelings: [{sourceLabels: [job, pod_template_hash], targetLabel: version}, {targetLabel: job, replacement: mine}]}}`)
	got := relabel(t, rules, discovered(map[string]string{"rollouts-pod-template-hash": "58fc"}))
	assert.Equal(t, "r-agentrun;58fc", got["version"])
	assert.Equal(t, "mine", got["job"])
}

func relabelings(t *testing.T, values string) []any {
	t.Helper()
	endpoints, _, err := unstructured.NestedSlice(render(t, values).one(t, "ServiceMonitor/r-agentrun").Object, "spec", "endpoints")
	require.NoError(t, err)
	require.Len(t, endpoints, 1)
	rules, _, err := unstructured.NestedSlice(endpoints[0].(map[string]any), "relabelings")
	require.NoError(t, err)
	return rules
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

// relabel does what Prometheus does for the action replace, with its defaults:
// the source labels, missing ones empty, joined by ";", are matched as a whole
// against "(.*)", and the target label becomes "$1"; an empty value removes the
// label. Other fields of a rule are not known here.
func relabel(t *testing.T, rules []any, labels map[string]string) map[string]string {
	t.Helper()
	labels = maps.Clone(labels)
	for _, r := range rules {
		rule := r.(map[string]any)
		for key := range rule {
			require.Contains(t, []string{"action", "sourceLabels", "separator", "regex", "replacement", "targetLabel"}, key)
		}
		say := func(key, otherwise string) string {
			if v, ok := rule[key].(string); ok {
				return v
			}
			return otherwise
		}
		require.Equal(t, "replace", say("action", "replace"))
		var values []string
		sources, _, err := unstructured.NestedStringSlice(rule, "sourceLabels")
		require.NoError(t, err)
		for _, source := range sources {
			values = append(values, labels[source])
		}
		pattern, err := regexp.Compile("^(?s:" + say("regex", "(.*)") + ")$")
		require.NoError(t, err)
		joined := strings.Join(values, say("separator", ";"))
		match := pattern.FindStringSubmatchIndex(joined)
		if match == nil {
			continue
		}
		target := say("targetLabel", "")
		require.Regexp(t, "^[a-zA-Z_][a-zA-Z0-9_]*$", target)
		if value := string(pattern.ExpandString(nil, say("replacement", "$1"), joined, match)); value != "" {
			labels[target] = value
		} else {
			delete(labels, target)
		}
	}
	maps.DeleteFunc(labels, func(key, _ string) bool { return strings.HasPrefix(key, "__") })
	return labels
}
