// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboards_test checks the dashboard of metrics/manifest with
// Grafana's types.
//
// Only this suite finds a misspelt field, which Grafana ignores without an
// error.
//
// The suite needs Linux.
package dashboards_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/manifest"
)

// tool is the folder of the check and its packages.
var tool = filepath.Join("..", "..", "tools", "dashboards")

// TestGrafanasTypes checks the dashboard, which has no faults, and copies with
// one fault each, which the check must report.
//
//req:shows O3
func TestGrafanasTypes(t *testing.T) {
	pack, err := manifest.New(manifest.Target{Name: "agentrun"})
	require.NoError(t, err)
	good := string(pack.Dashboard())
	rows, err := os.ReadFile(filepath.Join("testdata", "faults.yaml"))
	require.NoError(t, err)
	var faults map[string]struct{ Old, With, Want, Reason string }
	require.NoError(t, yaml.UnmarshalStrict(rows, &faults))
	require.NotEmpty(t, faults)
	all := map[string]json.RawMessage{"none": json.RawMessage(good)}
	for name, f := range faults {
		bad := strings.Replace(good, f.Old, f.With, 1)
		require.NotEqual(t, good, bad, name)
		all[name] = json.RawMessage(bad)
	}
	told := check(t, all)
	assert.Empty(t, told["none"], "the unchanged dashboard")
	for name, f := range faults {
		require.NotEmpty(t, told[name], "%s: %s", name, f.Reason)
		assert.Contains(t, strings.Join(told[name], "\n"), f.Want, "%s: %s", name, f.Reason)
	}
}

// The lock works with any registry, and pins every package by its content.
func TestTheLockNamesNoRegistry(t *testing.T) {
	body, err := os.ReadFile(filepath.Join(tool, "package-lock.json"))
	require.NoError(t, err)
	assert.NotContains(t, string(body), "resolved")
	assert.NotContains(t, string(body), "://")
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	require.NoError(t, json.Unmarshal(body, &lock))
	for name, p := range lock.Packages {
		if name != "" {
			assert.Regexp(t, `^sha512-`, p.Integrity, name)
		}
	}
}

// check returns the TypeScript compiler's errors for each dashboard.
func check(t *testing.T, dashboards map[string]json.RawMessage) (told map[string][]string) {
	t.Helper()
	in, err := json.Marshal(dashboards)
	require.NoError(t, err)
	lock, err := os.Stat(filepath.Join(tool, "package-lock.json"))
	require.NoError(t, err)
	installed, err := os.Stat(filepath.Join(tool, "node_modules", ".package-lock.json"))
	if err != nil || !installed.ModTime().After(lock.ModTime()) {
		_ = node(t, nil, "npm", "ci", "--ignore-scripts", "--no-progress", "--prefer-offline") // the packages of the lock; no script of theirs runs
	}
	require.NoError(t, json.Unmarshal(node(t, in, "node", "check.mjs"), &told))
	require.Len(t, told, len(dashboards))
	return told
}

// node runs a program of Node.js in the folder of the check.
func node(t *testing.T, in []byte, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdin = tool, bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "install Node.js 20 or later with its npm, for the types of Grafana: %s", stderr.Bytes())
	return out
}
