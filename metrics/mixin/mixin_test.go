// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package mixin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/mixin"
)

type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

// TestAlerts_SelectTheTarget: each selector of each rule has the job and the
// namespace, and each link the version. A name that YAML would read as another
// type stays a name, and one that ends like a key of YAML stays in its sentence.
//
//req:shows O3
func TestAlerts_SelectTheTarget(t *testing.T) {
	body, err := mixin.Alerts("agents/runs:", "1234", "v0.2.0-rc.1")
	require.NoError(t, err)
	for _, placeholder := range []string{"JOB", "NAMESPACE", "VERSION"} {
		assert.NotContains(t, string(body), placeholder)
	}
	var file ruleFile
	require.NoError(t, yaml.UnmarshalStrict(body, &file))
	require.Len(t, file.Groups, 1)
	require.NotEmpty(t, file.Groups[0].Rules)
	distinct := map[string]bool{}
	for _, rule := range file.Groups[0].Rules {
		id := fmt.Sprint(rule.Alert, rule.Labels)
		assert.False(t, distinct[id], "%s: promtool refuses a second rule of one name and labels", id)
		distinct[id] = true
		selectors := strings.Count(rule.Expr, "{")
		assert.Positive(t, selectors, rule.Alert)
		assert.Equal(t, selectors, strings.Count(rule.Expr, `job="agents/runs:",namespace="1234"`), rule.Alert)
		assert.Contains(t, []string{"critical", "warning", "ticket"}, rule.Labels["severity"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["description"], rule.Alert)
		assert.Contains(t, rule.Annotations["runbook_url"], "/blob/v0.2.0-rc.1/examples/operate/runbooks/", rule.Alert)
	}
	assert.Equal(t, "1234", file.Groups[0].Rules[0].Labels["namespace"])
}

func TestAlerts_RefuseWhatTheRulesCannotHold(t *testing.T) {
	for name, tc := range map[string]struct{ job, namespace, version, want, reason string }{
		"no job":         {"", "agents", "v0.1.0", `job "" is not accepted; want letters, digits and _ . / : -`, "it would select nothing"},
		"a quote":        {`a"}) or vector(1`, "agents", "v0.1.0", `job "a\"}) or vector(1" is not accepted`, "another expression"},
		"a line":         {"a\nb", "agents", "v0.1.0", `job "a\nb" is not accepted`, "another rule"},
		"no namespace":   {"agentrun", "", "v0.1.0", `namespace "" is not accepted; want a DNS label`, "it would select nothing"},
		"a pattern":      {"agentrun", ".*", "v0.1.0", `namespace ".*" is not accepted`, "the rules compare for equality"},
		"no version":     {"agentrun", "agents", "", `version "" is not accepted; want a tag such as v0.1.0`, "no page"},
		"a path":         {"agentrun", "agents", "v1/../main", `version "v1/../main" is not accepted`, "another page"},
		"each of them":   {"", "", "", "namespace", "all mistakes in one error"},
		"a long one":     {"agentrun", strings.Repeat("a", 64), "v0.1.0", "at most 63 characters", "no namespace is so long"},
		"capital letter": {"agentrun", "Agents", "v0.1.0", `namespace "Agents" is not accepted`, "no namespace has one"},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := mixin.Alerts(tc.job, tc.namespace, tc.version)
			assert.Nil(t, body)
			assert.ErrorContains(t, err, tc.want, tc.reason)
		})
	}
}
