// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden file, and the files of the chart that are generated")

// ciFiles are the values that the chart is tried with, by name.
func ciFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	all := map[string]string{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(path), "-values.yaml")] = string(body)
	}
	return all
}

func TestLint(t *testing.T) {
	for name, values := range ciFiles(t) {
		t.Run(name, func(t *testing.T) {
			out, err := runHelm(t, "lint", chartDir, "--strict", kubeVersion, "--values="+valuesFile(t, values))
			require.NoError(t, err)
			assert.NotContains(t, out, "[WARNING]")
			assert.NotContains(t, out, "[ERROR]")
			assert.NotContains(t, out, "Fail:", "lint shows what a template refuses as a mere information")
		})
	}
}

// TestEveryCIFileConforms: the rendered objects fit the schemas of Kubernetes
// and of the custom resources, without unknown fields.
//
//req:shows R2
func TestEveryCIFileConforms(t *testing.T) {
	check := newConformance(t)
	kinds := map[string]bool{}
	for name, values := range ciFiles(t) {
		t.Run(name, func(t *testing.T) {
			out, err := template(t, values)
			require.NoError(t, err)
			for _, o := range parse(t, out) {
				kinds[o.GetKind()] = true
				assert.Empty(t, check(t, o), "%s %s", o.GetKind(), o.GetName())
			}
		})
	}
	for _, kind := range []string{
		"Deployment", "Rollout", "Service", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap",
		"ServiceMonitor", "PrometheusRule", "HorizontalPodAutoscaler", "PodDisruptionBudget",
	} {
		assert.True(t, kinds[kind], "no file of ci/ renders a %s", kind)
	}
}

// TestConformanceSeesTypos: the check above would see what is wrong.
func TestConformanceSeesTypos(t *testing.T) {
	check := newConformance(t)
	cases := map[string]struct {
		reason string
		kind   string
		path   []string
		value  any
	}{
		"Deployment":     {"An unknown field of a built-in kind.", "Deployment", []string{"spec", "replicaz"}, int64(1)},
		"Rollout":        {"An unknown field deep in a custom resource.", "Rollout", []string{"spec", "strategy", "canary", "maxSurgee"}, int64(1)},
		"Type":           {"A string where a number belongs.", "Deployment", []string{"spec", "minReadySeconds"}, "1"},
		"ServiceMonitor": {"A pattern of the CRD.", "ServiceMonitor", []string{"spec", "scrapeProtocols"}, "soon"},
		"Template":       {"An unknown field of the pod template.", "Rollout", []string{"spec", "template", "spec", "hostname", "x"}, "y"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, o := range render(t, ciFiles(t)["full"]+"") {
				if o.GetKind() != tc.kind {
					continue
				}
				at := o.Object
				for _, key := range tc.path[:len(tc.path)-1] {
					next, ok := at[key].(map[string]any)
					if !ok {
						next = map[string]any{}
						at[key] = next
					}
					at = next
				}
				at[tc.path[len(tc.path)-1]] = tc.value
				assert.NotEmpty(t, check(t, o), tc.reason)
			}
		})
	}
}

// TestDefaults: what the default values render, to the byte. Run it with
// -update after a change that was reviewed.
func TestDefaults(t *testing.T) {
	const golden = "testdata/default.golden.yaml"
	out, err := runHelm(t, "template", "r", chartDir, "--namespace=ns", kubeVersion)
	require.NoError(t, err)
	before, dashboards, _ := strings.Cut(out, "# Source: agentrun/templates/dashboards.yaml")
	_, after, _ := strings.Cut(dashboards, "\n---\n") // the dashboard has a separate test
	out = before + "\n---\n" + after
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(out), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), out)
}

func TestNamesFit(t *testing.T) {
	long := strings.Repeat("a", 53) // the longest release that helm takes
	for name, values := range map[string]string{
		"release":  "{}",
		"override": "fullnameOverride: " + strings.Repeat("b", 60) + "\nnameOverride: " + strings.Repeat("c", 60),
	} {
		t.Run(name, func(t *testing.T) {
			out, err := templateAs(t, long, values)
			require.NoError(t, err)
			all := parse(t, out)
			require.NotEmpty(t, all)
			for key, o := range all {
				if o.GetKind() == "Service" {
					assert.LessOrEqual(t, len(o.GetName()), 63, key)
				}
				for _, v := range o.GetLabels() {
					assert.LessOrEqual(t, len(v), 63, key)
				}
			}
		})
	}
}

// TestTwoReleases: no cluster-scoped object is shared.
func TestTwoReleases(t *testing.T) {
	a, err := templateAs(t, "agentrun", "{}")
	require.NoError(t, err)
	b, err := runHelm(t, "template", "agentrun", chartDir, "--namespace=other", kubeVersion)
	require.NoError(t, err)
	second := parse(t, b)
	for key, o := range parse(t, a) {
		if strings.HasPrefix(o.GetKind(), "Cluster") {
			assert.NotContains(t, second, key)
		}
	}
}
