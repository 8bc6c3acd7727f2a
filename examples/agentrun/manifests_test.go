// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/settings"
)

// printed is what "agentrun manifests" prints. No field of it is unknown to T.
func printed[T any](t *testing.T, lookup func(string) (string, bool), args ...string) T {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"manifests"}, args...), lookup, &stdout, &stderr)
	require.Zero(t, code, stderr.String())
	require.Empty(t, stderr.String())
	var out T
	require.NoError(t, yaml.UnmarshalStrict(stdout.Bytes(), &out))
	assert.NotContains(t, stdout.String(), "status:")
	return out
}

// TestManifests_PrintsACanaryIfAsked by the environment or the flag. Nothing
// but kind and strategy differs.
//
//req:shows R1 R2
func TestManifests_PrintsACanaryIfAsked(t *testing.T) {
	const (
		on    = "JANGAR_PROGRESSIVE_DELIVERY_ENABLED=true"
		steps = `JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS=[{"setWeight":50},{"pause":{"duration":"10m"}}]`
	)
	off := printed[appsv1.Deployment](t, environ(steps))
	assert.Equal(t, "Deployment", off.Kind)
	cases := map[string]struct {
		reason string
		env    []string
		args   []string
		steps  int
	}{
		"Environment": {"The settings of rollout/settings.", []string{on}, nil, 20},
		"Steps":       {"Those of the environment.", []string{on, steps}, nil, 50},
		"Flag":        {"Without a variable.", nil, []string{"--progressive-delivery"}, 20},
		"FlagWins":    {"It is the more specific one.", []string{"JANGAR_PROGRESSIVE_DELIVERY_ENABLED=0", steps}, []string{"--progressive-delivery=true"}, 50},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			is := printed[rollout.Rollout](t, environ(tc.env...), tc.args...)
			require.NotEmpty(t, is.Spec.Strategy.Canary.Steps, tc.reason)
			assert.EqualValues(t, tc.steps, *is.Spec.Strategy.Canary.Steps[0].SetWeight, tc.reason)
			assert.Equal(t, "Rollout", is.Kind)
			assert.Equal(t, off.ObjectMeta, is.ObjectMeta)
			assert.Equal(t, off.Spec.Selector, is.Spec.Selector)
			assert.Equal(t, &off.Spec.Template, is.Spec.Template)
			assert.Equal(t, off.Spec.Replicas, is.Spec.Replicas)
		})
	}
	again := printed[appsv1.Deployment](t, environ(on), "--progressive-delivery=false")
	assert.Equal(t, off, again, "the flag switches it off too")
}

// TestManifests_SetsTheContainerUp from flags and the environment.
func TestManifests_SetsTheContainerUp(t *testing.T) {
	env := environ("JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=10m", "JANGAR_CONTROLLER_EVENTS_ENABLED= ")
	d := printed[appsv1.Deployment](t, env,
		"--release=shop", "--namespace=agents", "--image=registry.example.com/agentrun:2", "--replicas=1", "--workers=8", "--namespaces=a,b",
		"--log-format=text", "--leader-elect=false", "--", "--hold-jobs", "--selector", "shard=a")
	assert.Equal(t, "agents/shop-agentrun-controllers", d.Namespace+"/"+d.Name)
	assert.EqualValues(t, 1, *d.Spec.Replicas)
	c := d.Spec.Template.Spec.Containers[0]
	assert.Equal(t, "registry.example.com/agentrun:2", c.Image)
	assert.Equal(t, []string{
		"--metrics-bind-address=:8080", "--log-format=text", "--workers=8", "--namespaces=a,b", "--leader-elect=false",
		"--hold-jobs", "--selector", "shard=a",
	}, c.Args)
	vars := map[string]string{}
	for _, v := range c.Env {
		vars[v.Name] = v.Value
	}
	assert.Equal(t, "10m", vars["JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"])
	assert.Equal(t, "true", vars["JANGAR_CONTROLLER_EVENTS_ENABLED"], "blank is the default")
	assert.Equal(t, "5", vars["JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN"])
}

func TestManifests_RefusesWrongSettings(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    []string
		args   []string
		want   string
	}{
		"UnknownFlag":    {"As agentrun itself does.", nil, []string{"--replica=2"}, "not defined: -replica; see agentrun manifests --help"},
		"Argument":       {"All settings are flags.", nil, []string{"shop"}, `unexpected argument "shop"`},
		"Release":        {"Names begin with it.", nil, []string{"--release=Shop"}, `--release: "Shop" is not accepted`},
		"LongRelease":    {"Names of Services end at 63.", nil, []string{"--release=" + strings.Repeat("a", 41)}, "at most 40 characters"},
		"Namespace":      {"A namespace is a DNS label.", nil, []string{"--namespace=a.b"}, `--namespace: "a.b"`},
		"Image":          {"A pod needs one.", nil, []string{"--image="}, "--image: want"},
		"Replicas":       {"Nothing would reconcile.", nil, []string{"--replicas=0"}, "--replicas: 0"},
		"NoElection":     {"Two pods would reconcile.", nil, []string{"--leader-elect=false"}, "--leader-elect: "},
		"NoElectionInIt": {"A canary is a second pod.", nil, []string{"--leader-elect=false", "--replicas=1", "--progressive-delivery"}, "--leader-elect: "},
		"Workers":        {"The container would refuse it.", nil, []string{"--workers=0"}, "--workers: 0 is not accepted"},
		"More":           {"The container would refuse it.", nil, []string{"--", "--selector=a b"}, "--selector: "},
		"Help":           {"The container would end.", nil, []string{"--", "--help"}, "--help: "},
		"Variable":       {"The container would refuse it.", []string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=1"}, nil, "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"},
		"Steps":          {"The controller of Rollouts would.", []string{`JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS=[{"setWeight":200}]`}, nil, "JANGAR_PROGRESSIVE_DELIVERY_CANARY_STEPS"},
		"Switch":         {"It is neither.", nil, []string{"--progressive-delivery=maybe"}, "progressive-delivery"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"manifests"}, tc.args...), environ(tc.env...), &stdout, &stderr)
			assert.Equal(t, 2, code, tc.reason)
			assert.Contains(t, stderr.String(), tc.want, tc.reason)
			assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			assert.Empty(t, stdout.String())
		})
	}
}

// TestManifests_HelpShowsItsSettings: its flags, and the variables that
// rollout/settings reads.
//
//req:shows A3
func TestManifests_HelpShowsItsSettings(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"manifests", "--help"}, environ(), &stdout, &stderr))
	assert.Empty(t, stderr.String())
	for _, flag := range []string{
		"-release", "-namespace", "-image", "-replicas", "-progressive-delivery", "-workers", "-namespaces", "-log-format",
		"-leader-elect", "-leader-elect-lease-duration",
	} {
		assert.Contains(t, stdout.String(), "\n  "+flag)
	}
	read, shown := map[string]bool{}, map[string]bool{}
	_, err := settings.FromEnv(func(name string) (string, bool) { read[name] = true; return "", false }, settings.JangarNames())
	require.NoError(t, err)
	for _, name := range regexp.MustCompile(`(?m)^  ([A-Z_]+)$`).FindAllString(stdout.String(), -1) {
		shown[strings.TrimSpace(name)] = true
	}
	assert.Equal(t, read, shown)
}
