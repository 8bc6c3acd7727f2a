// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prometheus_test tests the rules and the dashboard of metrics/manifest
// with the real promtool and the code of Prometheus.
//
// Only this suite proves that each alert fires, and stays silent, as its
// runbook describes.
//
// The suite needs Linux.
package prometheus_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/manifest"
)

func newPack(t *testing.T) *manifest.Bundle {
	t.Helper()
	p, err := manifest.New(manifest.Target{Name: "agentrun", Namespace: "agents"})
	require.NoError(t, err)
	return p
}

// withOldNames also records the names of controller-runtime.
func withOldNames(t *testing.T) *manifest.Bundle {
	t.Helper()
	p, err := manifest.New(manifest.Target{Name: "agentrun", Namespace: "agents", OldNames: true})
	require.NoError(t, err)
	return p
}

// promtool runs promtool next to a file with rules, and returns its output.
func promtool(t *testing.T, rules []byte, args ...string) (string, error) {
	t.Helper()
	program, err := exec.CommandContext(t.Context(), "sh", "promtool.sh").Output()
	require.NoError(t, err, "promtool is not in PATH, and Debian's package cannot be unpacked; install the package prometheus")
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(program)), args...)
	cmd.Dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "rules.yaml"), rules, 0o600))
	require.NoError(t, os.CopyFS(cmd.Dir, os.DirFS("testdata")))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	for _, p := range []*manifest.Bundle{newPack(t), withOldNames(t)} {
		out, err := promtool(t, p.Rules(), "check", "rules", "--lint-fatal", "rules.yaml")
		require.NoError(t, err, out)
		assert.Regexp(t, `SUCCESS: \d+ rules found`, out)
	}
}

// TestEachAlertFiresAndIsQuiet: each alert has a file of stories, which the
// rules pass. A story that every rule passes proves nothing: with another
// metric, threshold or job, each alert fails its own stories.
//
//req:shows O3
func TestEachAlertFiresAndIsQuiet(t *testing.T) {
	metric := regexp.MustCompile(`\b(controller_[a-z_]+|process_[a-z_]+|up|__name__=~"controller_)`)
	threshold := regexp.MustCompile(`([<>]) ([0-9.]+)$`)
	belowItsThreshold := []string{"ControllerTargetAbsent", "ControllerMetricsMissing", "ControllerNoLeader"}
	p := newPack(t)
	for _, a := range p.Alerts() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			stories := filepath.Join("alerts", a.Name+".yaml")
			out, err := promtool(t, alone(t, p.Rules(), a.Name, a.Expr), "test", "rules", stories)
			require.NoError(t, err, out)

			always, never := "> -1", "> 1e9"
			if slices.Contains(belowItsThreshold, a.Name) {
				always, never = "< 1e9", "< -1"
			}
			for fault, expr := range map[string]string{
				"a metric is renamed": metric.ReplaceAllString(a.Expr, "${1}x"),
				"it never fires":      threshold.ReplaceAllString(a.Expr, never),
				"it always fires":     threshold.ReplaceAllString(a.Expr, always),
				"another job's":       strings.ReplaceAll(a.Expr, `job="agentrun"`, `job="agents"`),
			} {
				require.NotEqual(t, a.Expr, expr, fault)
				out, err := promtool(t, alone(t, p.Rules(), a.Name, expr), "test", "rules", stories)
				require.Error(t, err, "%s: %s", fault, out)
				assert.Contains(t, out, "FAILED", fault)
			}
		})
	}
}

// ruleFile is a file of rules.
type ruleFile struct {
	Groups []ruleGroup `json:"groups"`
}

type ruleGroup struct {
	Name  string           `json:"name"`
	Rules []map[string]any `json:"rules"`
}

// alone returns the rule of an alert, with an expression.
func alone(t *testing.T, rules []byte, alert, expr string) []byte {
	t.Helper()
	var file ruleFile
	require.NoError(t, yaml.UnmarshalStrict(rules, &file))
	for _, rule := range file.Groups[0].Rules {
		if rule["alert"] == alert {
			rule["expr"] = expr
			file.Groups[0].Rules = []map[string]any{rule}
		}
	}
	body, err := yaml.Marshal(file)
	require.NoError(t, err)
	return body
}

//req:shows O3
func TestAlerts_AreQuietInAHealthyFleet(t *testing.T) {
	out, err := promtool(t, newPack(t).Rules(), "test", "rules", "healthy.yaml")
	require.NoError(t, err, out)
}

// TestOldQueriesAnswer: queries as dashboards and alerts of controller-runtime
// have them give the right numbers on the recorded names.
//
//req:shows O3
func TestOldQueriesAnswer(t *testing.T) {
	out, err := promtool(t, withOldNames(t).Rules(), "test", "rules", "oldnames.yaml")
	require.NoError(t, err, out)
	assert.NotContains(t, string(newPack(t).Rules()), "controller_runtime_",
		"only on request: controller-runtime's own would count twice")
}

// TestPanelsTellWhatHappened: the values of panels over a quarter of an hour,
// with all variables at "All". A rule records each query of the dashboard as
// the series panel.
//
//req:shows O3
func TestPanelsTellWhatHappened(t *testing.T) {
	group := ruleGroup{Name: "panels"}
	numbers := map[string]int{}
	for _, q := range newPack(t).Queries() {
		title, isPanel := strings.CutPrefix(q.Source, "panel ")
		if !isPanel {
			continue
		}
		labels := map[string]string{"title": title, "query": strconv.Itoa(numbers[title])}
		numbers[title]++
		group.Rules = append(group.Rules, map[string]any{
			"record": "panel", "labels": labels, "expr": q.Instant(15 * time.Minute),
		})
	}
	rules, err := yaml.Marshal(ruleFile{Groups: []ruleGroup{group}})
	require.NoError(t, err)
	out, err := promtool(t, rules, "test", "rules", "panels.yaml")
	require.NoError(t, err, out)
}
