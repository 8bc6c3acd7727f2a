// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/jobgc/settings"
)

// container of a workload, and its variables that have a value.
func (all objects) container(t *testing.T, workload string) (corev1.Container, map[string]string) {
	t.Helper()
	d := into[appsv1.Deployment](t, all.one(t, "Deployment/"+workload))
	require.Len(t, d.Spec.Template.Spec.Containers, 1)
	c := d.Spec.Template.Spec.Containers[0]
	names, vars := map[string]bool{}, map[string]string{}
	for _, v := range c.Env {
		assert.False(t, names[v.Name], "%s twice: server-side apply refuses it", v.Name)
		names[v.Name] = true
		if v.ValueFrom == nil {
			vars[v.Name] = v.Value
		}
	}
	return c, vars
}

const (
	jobTTL       = "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"
	runRetention = "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS"
	logRetention = "JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS"
	eventsOn     = "JANGAR_CONTROLLER_EVENTS_ENABLED"
	eventsRate   = "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN"
)

// TestEnvironmentOfTheControllers: what each value becomes. Zero and false are
// values; a number is never 2.592e+06; a workload's own variable wins, also by
// an empty string.
//
//req:shows J1 R1
func TestEnvironmentOfTheControllers(t *testing.T) {
	defaults := func(with map[string]string) map[string]string {
		vars := map[string]string{jobTTL: "600", runRetention: "2592000", logRetention: "604800", eventsOn: "true", eventsRate: "5"}
		maps.Copy(vars, with)
		return vars
	}
	cases := map[string]struct {
		reason       string
		values       string
		args         []string
		controllers  map[string]string
		controlPlane map[string]string
	}{
		"Defaults":       {"The defaults of the controller, said aloud.", "{}", nil, defaults(nil), map[string]string{}},
		"Zero":           {"Helm's default would take 0 and false for unset.", "controller: {jobTtlSecondsAfterFinished: 0, agentRunRetentionSeconds: 0, logRetentionSeconds: 0, events: {enabled: false}}", nil, defaults(map[string]string{jobTTL: "0", runRetention: "0", logRetention: "0", eventsOn: "false"}), map[string]string{}},
		"Alias":          {"The alias alone.", "controller: {jobTTLSeconds: 7200}", nil, defaults(map[string]string{jobTTL: "7200"}), map[string]string{}},
		"Alias0":         {"The alias with zero.", "controller: {jobTTLSeconds: 0}", nil, defaults(map[string]string{jobTTL: "0"}), map[string]string{}},
		"AliasAgrees":    {"Both, and the same.", "controller: {jobTTLSeconds: 7200, jobTtlSecondsAfterFinished: 7200}", nil, defaults(map[string]string{jobTTL: "7200"}), map[string]string{}},
		"CommandLine":    {"A number from --set is another type in Go.", "{}", []string{"--set=controller.jobTtlSecondsAfterFinished=86400,controller.agentRunRetentionSeconds=31536000"}, defaults(map[string]string{jobTTL: "86400", runRetention: "31536000"}), map[string]string{}},
		"Global":         {"For both.", "env: {vars: {A: one}}", nil, defaults(map[string]string{"A": "one"}), map[string]string{"A": "one"}},
		"Own":            {"For one.", "controllers: {env: {vars: {A: one}}}", nil, defaults(map[string]string{"A": "one"}), map[string]string{}},
		"OwnWins":        {"The workload's own over the global one.", "{env: {vars: {A: one, B: both}}, controllers: {env: {vars: {A: two}}}, controlPlane: {env: {vars: {A: three}}}}", nil, defaults(map[string]string{"A": "two", "B": "both"}), map[string]string{"A": "three", "B": "both"}},
		"EmptyWins":      {"Empty is a value.", `{env: {vars: {A: one}}, controllers: {env: {vars: {A: ""}}}}`, nil, defaults(map[string]string{"A": ""}), map[string]string{"A": "one"}},
		"OverTheSetting": {"A variable by its name wins over the value of the chart.", "{env: {vars: {" + jobTTL + ": \"900\"}}, controllers: {env: {vars: {" + jobTTL + ": \"1200\"}}}}", nil, defaults(map[string]string{jobTTL: "1200"}), map[string]string{jobTTL: "900"}},
		"OwnName":        {"The pod's name is set once.", "controllers: {env: {vars: {POD_NAME: mine}}}", nil, defaults(map[string]string{"POD_NAME": "mine"}), map[string]string{}},
		"Quoted":         {"Strings stay strings.", `env: {vars: {A: "true", B: "012", C: "a: b # c", D: "{{ .Values }}"}}`, nil, defaults(map[string]string{"A": "true", "B": "012", "C": "a: b # c", "D": "{{ .Values }}"}), map[string]string{"A": "true", "B": "012", "C": "a: b # c", "D": "{{ .Values }}"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := render(t, tc.values, tc.args...)
			_, vars := all.container(t, "r-agentrun-controllers")
			assert.Equal(t, tc.controllers, vars, tc.reason)
			_, err := settings.FromEnv(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, settings.JangarNames())
			require.NoError(t, err, "the controller takes it")
			_, vars = all.container(t, "r-agentrun")
			assert.Equal(t, tc.controlPlane, vars, tc.reason)
		})
	}
}

func TestDisruptionBudgets(t *testing.T) {
	cases := map[string]struct {
		reason string
		values string
		want   map[string]any
	}{
		"Default": {"One pod at a time.", "{enabled: true}", map[string]any{"maxUnavailable": float64(1)}},
		"Min":     {"The default is left out.", "{enabled: true, minAvailable: 50%}", map[string]any{"minAvailable": "50%"}},
		"Min0":    {"0 is a value.", "{enabled: true, minAvailable: 0}", map[string]any{"minAvailable": float64(0)}},
		"Max0":    {"0 is a value: no eviction is allowed.", "{enabled: true, maxUnavailable: 0}", map[string]any{"maxUnavailable": float64(0)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := render(t, "{controllers: {podDisruptionBudget: "+tc.values+"}, controlPlane: {podDisruptionBudget: "+tc.values+"}}")
			for workload := range workloads {
				spec := all.one(t, "PodDisruptionBudget/"+workload).Object["spec"].(map[string]any)
				delete(spec, "selector")
				assert.Equal(t, tc.want, spec, tc.reason)
			}
		})
	}
}
