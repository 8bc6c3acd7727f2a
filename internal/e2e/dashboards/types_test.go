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
	type fault struct{ old, with, want, reason string }
	faults := map[string]fault{
		"a misspelt option":       {`"showLegend"`, `"showLegends"`, "showLegend", "the legend is hidden"},
		"a misspelt style":        {`"fillOpacity"`, `"fillOpacty"`, "fillOpacty", "Grafana ignores it without an error"},
		"an unknown draw style":   {`"drawStyle": "line"`, `"drawStyle": "lines"`, `"lines"`, "nothing is drawn"},
		"an unknown legend":       {`"displayMode": "table"`, `"displayMode": "tables"`, `"tables"`, "no legend"},
		"an unknown stacking":     {`"mode": "normal"`, `"mode": "stacked"`, `"stacked"`, "not stacked"},
		"an unknown graph":        {`"graphMode": "none"`, `"graphMode": "off"`, `"off"`, "an area is drawn"},
		"an unknown panel":        {`"type": "timeseries"`, `"type": "timeserie"`, `"timeserie"`, "panel plugin not found"},
		"an old panel":            {`"type": "stat"`, `"type": "singlestat"`, `"singlestat"`, "gone since Grafana 9"},
		"seconds as milliseconds": {`"unit": "s"`, `"unit": "ms"`, `"ms"`, "a thousand times too fast"},
		"an unknown unit":         {`"unit": "ops"`, `"unit": "per second"`, `"per second"`, "shown as a suffix"},
		"a width in words":        {`"w": 24`, `"w": "24"`, "string", "a torn layout"},
		"a switch in words":       {`"exemplar": true`, `"exemplar": "true"`, "string", "no exemplars"},
		"an unknown query field":  {`"expr": "max`, `"query": "max`, "query", "an empty query"},
		"an unknown editor":       {`"editorMode": "code"`, `"editorMode": "text"`, `"text"`, "the builder garbles the query"},
		"a fixed data source":     {`"uid": "${datasource}"`, `"uid": "prometheus"`, `"prometheus"`, "another Grafana has another"},
		"no thresholds' mode":     {`"mode": "absolute"`, `"mode": "relative"`, `"relative"`, "no colour"},
		"a refresh never":         {`"refresh": 2`, `"refresh": 0`, "0", "the choice stays empty"},
		"an unknown variable":     {`"type": "datasource"`, `"type": "datasources"`, `"datasources"`, "the dashboard does not load"},
		"no title":                {`"title": "Busy workers"`, `"titel": "Busy workers"`, "titel", "a panel without a name"},
		"no version":              {`"schemaVersion": 39`, `"schemaversion": 39`, "schemaversion", "taken for the oldest"},
		"a row's child":           {`"collapsed": false`, `"collapsed": true`, "true", "its panels are hidden"},
		"no field at all":         {`"fieldConfig"`, `"fieldconfig"`, "fieldconfig", "no unit"},
	}
	all := map[string]json.RawMessage{"none": json.RawMessage(good)}
	for name, f := range faults {
		bad := strings.Replace(good, f.old, f.with, 1)
		require.NotEqual(t, good, bad, name)
		all[name] = json.RawMessage(bad)
	}
	told := check(t, all)
	assert.Empty(t, told["none"], "the unchanged dashboard")
	for name, f := range faults {
		require.NotEmpty(t, told[name], "%s: %s", name, f.reason)
		assert.Contains(t, strings.Join(told[name], "\n"), f.want, "%s: %s", name, f.reason)
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
