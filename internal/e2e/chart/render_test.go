// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
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

// TestTwoReleases: they share no cluster-scoped object, and none in a namespace
// for all monitors, rules and dashboards.
func TestTwoReleases(t *testing.T) {
	values := valuesFile(t, "controller: {allNamespaces: true}\nmetrics: {serviceMonitor: {enabled: true, namespace: m}, prometheusRule: {enabled: true, namespace: m}, dashboards: {namespace: m}}")
	for reason, pair := range map[string][2][2]string{
		"One name in two namespaces.":                         {{"ns", "agentrun"}, {"other", "agentrun"}},
		"Two namespaces and names that a hyphen joins alike.": {{"a", "b-agentrun"}, {"a-b", "agentrun"}},
	} {
		seen := map[string]bool{}
		for _, release := range pair {
			out, err := runHelm(t, "template", release[1], chartDir, "--namespace="+release[0], kubeVersion, "--values="+values)
			require.NoError(t, err)
			for key := range parseIn(t, release[0], out) {
				if strings.HasPrefix(key, "Cluster") || strings.Contains(key, "/m/") {
					assert.False(t, seen[key], "%s: %s", key, reason)
					seen[key] = true
				}
			}
		}
		assert.Len(t, seen, 10, reason)
	}
}

// TestNamesThatLookLikeNumbers: they are DNS labels, and YAML must keep them
// strings.
func TestNamesThatLookLikeNumbers(t *testing.T) {
	values := valuesFile(t, `{controller: {namespaces: ["123"]}, controllers: {serviceAccount: {name: "1e3"}, priorityClassName: "100"},
  metrics: {tls: {secretName: "789"}, dashboards: {enabled: true, namespace: "456"}, serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}}`)
	out, err := runHelm(t, "template", "42", chartDir, "--namespace=2024", kubeVersion, "--api-versions="+ruleAPI, "--api-versions="+monitorAPI, "--values="+values)
	require.NoError(t, err)
	var untyped func(path string, v any)
	untyped = func(path string, v any) {
		m, _ := v.(map[string]any)
		for k, v := range m {
			if slices.Contains([]string{"namespace", "app.kubernetes.io/instance", "name", "serviceAccountName", "priorityClassName", "secretName"}, k) {
				assert.IsType(t, "", v, path+"."+k)
			}
			untyped(path+"."+k, v)
		}
		list, _ := v.([]any)
		for _, v := range list {
			untyped(path, v)
		}
	}
	for key, o := range parse(t, out) {
		untyped(key, o.Object)
	}
}

// TestANamespaceThatIsCalledAsInTheRules: the file of the alerts has
// placeholders for the names of a release.
func TestANamespaceThatIsCalledAsInTheRules(t *testing.T) {
	values := valuesFile(t, "metrics: {prometheusRule: {enabled: true}}")
	out, err := runHelm(t, "template", "r", chartDir, "--namespace=my-release-namespace", kubeVersion, "--api-versions="+ruleAPI, "--values="+values)
	require.NoError(t, err)
	assert.NotContains(t, out, "my-my-")
}
