// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prometheus_test tests the rules and the dashboard of metrics/manifest
// with the real promtool and Prometheus.
//
// Only this suite proves that each alert fires, and stays silent, as its
// runbook describes.
//
// The suite needs Linux.
package prometheus_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/e2e/promtest"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

func newPack(t *testing.T) *manifest.Bundle {
	t.Helper()
	p, err := manifest.New(manifest.Target{Name: "agentrun", Namespace: "agents"})
	require.NoError(t, err)
	return p
}

// promtool runs promtool in dir and returns its output.
func promtool(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	_, program, err := promtest.Binaries(t.Context())
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// check checks the syntax of rules.
func check(t *testing.T, rules []byte) (string, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), rules, 0o600))
	return promtool(t, dir, "check", "rules", "--lint-fatal", "rules.yml")
}

// unitTest tests rules, or expressions on the series that they record, with
// promtool's unit tests of rules. The interval of the series is a minute unless
// a test sets another.
func unitTest(t *testing.T, rules []byte, tests ...map[string]any) (string, error) {
	t.Helper()
	for _, test := range tests {
		if test["interval"] == nil {
			test["interval"] = "1m"
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), rules, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tests.yml"), []byte(asJSON(t, map[string]any{
		"rule_files": []string{"rules.yml"}, "evaluation_interval": "1m", "tests": tests,
	})), 0o600))
	return promtool(t, dir, "test", "rules", "tests.yml")
}

// input is the input of a unit test: series with one value a minute.
func input(series map[string]string) (all []map[string]string) {
	for name, values := range series {
		all = append(all, map[string]string{"series": name, "values": values})
	}
	return all
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	p := newPack(t)
	out, err := check(t, p.Rules())
	require.NoError(t, err, out)
	assert.Contains(t, out, fmt.Sprintf("SUCCESS: %d rules found", len(p.Alerts())))
}

//req:shows O3
func TestEachAlertFiresAndIsQuiet(t *testing.T) {
	p := newPack(t)
	fires, quiet := map[string]int{}, map[string]int{}
	for _, s := range stories() {
		if s.fires == nil {
			quiet[s.alert]++
		} else {
			fires[s.alert]++
		}
	}
	for _, a := range p.Alerts() {
		assert.Positive(t, fires[a.Name], "%s has no story in which it fires", a.Name)
		assert.Positive(t, quiet[a.Name], "%s has no story in which it is quiet", a.Name)
	}
	out, err := tell(t, p, p.Rules(), stories())
	require.NoError(t, err, out)
}

// A story that every rule passes proves nothing. With another metric, threshold
// or wait, each alert fails its own story.
//
//req:shows O3
func TestWrongRulesFailTheirStories(t *testing.T) {
	p := newPack(t)
	byAlert := map[string][]story{}
	for _, s := range stories() {
		byAlert[s.alert] = append(byAlert[s.alert], s)
	}
	metric := regexp.MustCompile(`\b(controller_[a-z_]+|process_[a-z_]+|up|__name__=~"controller_)`)
	threshold := regexp.MustCompile(`([<>]) ([0-9.]+)$`)
	for _, a := range p.Alerts() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			for fault, expr := range map[string]string{
				"a metric is renamed":   metric.ReplaceAllString(a.Expr, "${1}x"),
				"nothing is too much":   threshold.ReplaceAllString(a.Expr, "$1 1e9"),
				"everything is too bad": threshold.ReplaceAllString(a.Expr, "$1= -1"),
				"the job is another's":  strings.ReplaceAll(a.Expr, `job="agentrun"`, `job="agents"`),
			} {
				if slices.Contains([]string{"ControllerTargetAbsent", "ControllerMetricsMissing", "ControllerNoLeader"}, a.Name) { // these fire below their threshold
					expr = strings.ReplaceAll(strings.ReplaceAll(expr, "< 1e9", "< -1"), "<= -1", "<= 1e9")
				}
				require.NotEqual(t, a.Expr, expr, fault)
				wrong := fmt.Sprintf("groups: [{name: a, rules: [%s]}]", asJSON(t, map[string]any{
					"alert": a.Name, "expr": expr, "for": a.For.String(), "labels": map[string]string{"severity": a.Severity},
					"annotations": map[string]string{"summary": a.Summary, "description": a.Description, "runbook_url": a.RunbookURL},
				}))
				out, err := tell(t, p, []byte(wrong), byAlert[a.Name])
				require.Error(t, err, "%s: %s", fault, out)
				assert.Contains(t, out, "FAILED", fault)
			}
		})
	}
}

// tell tests rules against stories.
func tell(t *testing.T, p *manifest.Bundle, rules []byte, stories []story) (string, error) {
	t.Helper()
	alerts := map[string]manifest.Alert{}
	for _, a := range p.Alerts() {
		alerts[a.Name] = a
	}
	var tests []map[string]any
	for _, s := range stories {
		a := alerts[s.alert]
		expected := []map[string]any{}
		if s.fires != nil {
			labels := map[string]string{"severity": a.Severity}
			maps.Copy(labels, s.fires)
			expected = append(expected, map[string]any{
				"exp_labels":      labels,
				"exp_annotations": map[string]string{"summary": s.text(t, a.Summary), "description": s.text(t, a.Description), "runbook_url": a.RunbookURL},
			})
		}
		tests = append(tests, map[string]any{
			"name": s.alert + ": " + s.name, "input_series": input(s.series),
			"alert_rule_test": []map[string]any{{"eval_time": fmt.Sprint(s.after, "m"), "alertname": s.alert, "exp_alerts": expected}},
		})
	}
	return unitTest(t, rules, tests...)
}

var inserted = regexp.MustCompile(`{{ \$(labels\.)?(\w+)[^}]*}}`)

// text is an annotation of the firing alert, with its labels and its value.
func (s story) text(t *testing.T, annotation string) string {
	t.Helper()
	return inserted.ReplaceAllStringFunc(annotation, func(field string) string {
		names, is := inserted.FindStringSubmatch(field), s.value
		if names[1] != "" {
			is = s.fires[names[2]]
		}
		require.NotEmpty(t, is, "%s: %s: %s", s.alert, s.name, field)
		return is
	})
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}
