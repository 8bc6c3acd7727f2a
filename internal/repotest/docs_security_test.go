// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSecurity_NamesWhatARunMayUse: SECURITY.md has each field of an AgentRun
// through which a run gets a Secret or the rights of a ServiceAccount.
func TestSecurity_NamesWhatARunMayUse(t *testing.T) {
	fields := regexp.MustCompile(`(?m)^\s+\w*(?:Secret|ServiceAccount)\w* .*json:"(\w+)`).FindAllStringSubmatch(read(t, "examples/agentrun/api/v1alpha1/types.go"), -1)
	require.NotEmpty(t, fields, "this test no longer finds the fields; fix its pattern")
	page := read(t, "SECURITY.md")
	for _, f := range fields {
		assert.Contains(t, page, "`"+f[1]+"`", "SECURITY.md: say what who may create an AgentRun gets by this field")
	}
}

// TestSecurity_TheFloorsAdvisoriesAreNotCalled: SECURITY.md names the lowest
// OpenTelemetry and what its advisories concern, and no package uses that.
func TestSecurity_TheFloorsAdvisoriesAreNotCalled(t *testing.T) {
	floor := regexp.MustCompile(`go\.opentelemetry\.io/otel/sdk (v\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	require.NotNil(t, floor, "go.mod requires OpenTelemetry's SDK")
	page := read(t, "SECURITY.md")
	assert.Contains(t, page, "OpenTelemetry "+floor[1]+" ", "SECURITY.md: name the lowest version, and correct its advisories")
	concerned := regexp.MustCompile(`\bresource\.(?:New|WithHost\w*)\(|"go\.opentelemetry\.io/otel/(?:baggage|propagation)"`)
	for name, body := range tracked(t, "*.go") {
		if !strings.HasSuffix(name, "_test.go") && regexp.MustCompile(`^(events|jobgc|metrics|rollout|status)/`).MatchString(name) {
			assert.Empty(t, concerned.FindString(string(body)), "%s uses what an advisory of OpenTelemetry concerns; correct SECURITY.md", name)
		}
	}
}
