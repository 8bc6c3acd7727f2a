// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prometheus_test evaluates the rules and the dashboard of
// metrics/mixin with the code of Prometheus.
//
// Only this suite proves when each alert fires, and when it stays silent.
//
// The suite needs Linux.
package prometheus_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/mixin"
)

// start is the first minute of a story.
var start = time.Unix(1_800_000_000, 0)

// worlds is the file of the stories.
type worlds struct {
	Base    map[string]string `json:"base"`
	Standby map[string]string `json:"standby"`
	Stories []story           `json:"stories"`
}

type story struct {
	Name    string            `json:"name"`
	Minutes int               `json:"minutes"`
	Leads   []string          `json:"leads"` // the labels of processes with the series of base
	Standby []string          `json:"standby"`
	Without []string          `json:"without"`
	Series  map[string]string `json:"series"`
	Fires   []string          `json:"fires"`
	// Shows has the values of panels at the minute ShownAt, for half an hour.
	ShownAt int                 `json:"shownAt"`
	Shows   map[string][]string `json:"shows"`
}

// rules returns the alerts for the job agentrun in the namespace agents. The
// parser of Prometheus accepts the file.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	body, err := mixin.Alerts("agentrun", "agents", "v0.1.0")
	require.NoError(t, err)
	groups, errs := rulefmt.Parse(body, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	require.Len(t, groups.Groups, 1)
	return groups.Groups[0].Rules
}

// TestStories plays each story. The alerts fire from the minute that it says,
// with its labels, and no others fire. Each alert fires in a story.
//
//req:shows O3
func TestStories(t *testing.T) {
	file := read(t)
	all := rules(t)
	seen := map[string]bool{}
	for _, s := range file.Stories {
		for _, fires := range s.Fires {
			name, _, _ := strings.Cut(fires, "{")
			seen[name] = true
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			world := file.world(t, s)
			assert.ElementsMatch(t, s.Fires, play(t, world, s.Minutes, all))
			for panel, values := range s.Shows {
				assert.ElementsMatch(t, values, show(t, world, panel, s.ShownAt), panel)
			}
		})
	}
	for _, rule := range all {
		assert.True(t, seen[rule.Alert], "%s fires in no story", rule.Alert)
	}
}

func read(t *testing.T) worlds {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "stories.yaml"))
	require.NoError(t, err)
	var file worlds
	require.NoError(t, yaml.UnmarshalStrict(body, &file))
	return file
}

// world returns a Prometheus with the series of the story.
func (w worlds) world(t *testing.T, s story) *server {
	t.Helper()
	if s.Leads == nil {
		s.Leads = []string{`instance="a"`}
	}
	series := map[string]string{}
	add := func(of map[string]string, processes []string) {
		for _, process := range processes {
			for metric, values := range of {
				name, _, _ := strings.Cut(metric, "{")
				if slices.Contains(s.Without, name) {
					continue
				}
				series[described(t, metric, process)] = values
			}
		}
	}
	add(w.Base, s.Leads)
	add(w.Standby, s.Standby)
	for metric, values := range s.Series {
		series[described(t, metric, "")] = values
	}
	prometheus := newServer(textparse.ParserOptions{})
	for metric, values := range series {
		prometheus.load(t, metric, strings.ReplaceAll(values, "xN", fmt.Sprintf("x%d", s.Minutes)))
	}
	return prometheus
}

// described returns the series with the labels of the target and, if given, of
// the process.
func described(t *testing.T, metric, process string) string {
	t.Helper()
	of, _, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(metric)
	require.NoError(t, err, metric)
	all := labels.NewBuilder(labels.FromStrings("job", "agentrun", "namespace", "agents"))
	of.Range(func(l labels.Label) { all.Set(l.Name, l.Value) })
	if process != "" {
		own, _, err := parser.NewParser(parser.Options{}).ParseSeriesDesc("up{" + process + "}")
		require.NoError(t, err, process)
		labels.NewBuilder(own).Del("__name__").Labels().Range(func(l labels.Label) { all.Set(l.Name, l.Value) })
	}
	if !strings.HasPrefix(metric, "controller_") {
		all.Del("scope") // a label of the instruments
	}
	return all.Labels().String()
}

// load stores a series with a value a minute.
func (s *server) load(t *testing.T, metric, values string) {
	t.Helper()
	of, sequence, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(metric + " " + values)
	require.NoError(t, err, "%s %s", metric, values)
	series := &promql.Series{Metric: of}
	for n, value := range sequence {
		at := start.Add(time.Duration(n) * time.Minute).UnixMilli()
		switch {
		case value.Omitted:
		case value.Histogram != nil:
			series.Histograms = append(series.Histograms, promql.HPoint{T: at, H: value.Histogram})
		default:
			series.Floats = append(series.Floats, promql.FPoint{T: at, F: value.Value})
		}
	}
	s.series[of.String()] = series
}

// play evaluates the rules each minute, as Prometheus does. It returns the
// alerts that fired: the labels that are not the target's, the first minute,
// and the last one unless the alert fires to the end.
func play(t *testing.T, s *server, minutes int, all []rulefmt.Rule) (fired []string) {
	t.Helper()
	for _, rule := range all {
		a := alert{rule: rule, since: map[string]int{}, fires: map[string]int{}}
		for minute := range minutes + 1 {
			values, err := s.query(t.Context(), rule.Expr, start.Add(time.Duration(minute)*time.Minute))
			require.NoError(t, err, rule.Alert)
			fired = append(fired, a.end(t, values, minute, minutes)...)
			a.begin(t, values, minute)
		}
		fired = append(fired, a.end(t, nil, minutes+1, minutes)...)
	}
	return fired
}

// alert is a rule, and since when each of its values exists and fires.
type alert struct {
	rule         rulefmt.Rule
	since, fires map[string]int
}

// begin notes the values that exist in a minute.
func (a alert) begin(t *testing.T, values map[string]float64, minute int) {
	t.Helper()
	for of, value := range values {
		if _, pending := a.since[of]; !pending {
			a.since[of] = minute
		}
		_, firing := a.fires[of]
		waited := time.Duration(minute-a.since[of]) * time.Minute
		if !firing && waited >= time.Duration(a.rule.For) {
			a.fires[of] = minute
			describe(t, a.rule, of, value)
		}
	}
}

// end forgets the values that no longer exist, and returns those that fired.
func (a alert) end(t *testing.T, values map[string]float64, minute, minutes int) (fired []string) {
	t.Helper()
	for of := range maps.Clone(a.since) {
		if _, still := values[of]; still {
			continue
		}
		from, firing := a.fires[of]
		if firing {
			fired = append(fired, period(t, a.rule, of, from, minute-1, minutes))
		}
		delete(a.since, of)
		delete(a.fires, of)
	}
	return fired
}

// show returns the values of the first query of a panel, or of the query after
// the slash.
func show(t *testing.T, s *server, panel string, minute int) (values []string) {
	t.Helper()
	title, number, numbered := strings.Cut(panel, "/")
	if !numbered {
		number = "0"
	}
	source := fmt.Sprintf("panel %s, query %s", title, number)
	for _, q := range queries(t, "30m") {
		if q.source != source {
			continue
		}
		found, err := s.query(t.Context(), q.expr, start.Add(time.Duration(minute)*time.Minute))
		require.NoError(t, err, source)
		for of, value := range found {
			shown := labels.NewBuilder(parsed(t, of)).Del("job", "namespace").Labels()
			values = append(values, fmt.Sprintf("%s %g", strings.ReplaceAll(shown.String(), ", ", ","), value))
		}
		return values
	}
	require.Fail(t, "no panel has this query", source)
	return nil
}

// period is an alert as a story writes it.
func period(t *testing.T, rule rulefmt.Rule, of string, from, to, minutes int) string {
	t.Helper()
	shown := labels.NewBuilder(parsed(t, of)).Del("job", "namespace")
	for name, value := range rule.Labels {
		if name != "job" && name != "namespace" {
			shown.Set(name, value)
		}
	}
	text := fmt.Sprintf("%s%s %d", rule.Alert, strings.ReplaceAll(shown.Labels().String(), ", ", ","), from)
	if to < minutes {
		text += fmt.Sprintf("-%d", to)
	}
	return text
}

func parsed(t *testing.T, of string) labels.Labels {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseMetric(of)
	require.NoError(t, err)
	return parsed
}

// describe expands the texts of an alert. A label that the expression drops
// would leave a gap.
func describe(t *testing.T, rule rulefmt.Rule, of string, value float64) {
	t.Helper()
	own := parsed(t, of).Map()
	maps.Copy(own, rule.Labels)
	for _, text := range rule.Annotations {
		const variables = "{{$labels := .Labels}}{{$value := .Value}}"
		data := template.AlertTemplateData(own, nil, "", promql.Sample{F: value})
		expander := template.NewTemplateExpander(t.Context(), variables+text, rule.Alert, data, model.Now(), nil, nil, []string{"missingkey=error"})
		expanded, err := expander.Expand()
		require.NoError(t, err, rule.Alert)
		assert.NotContains(t, expanded, "  ", rule.Alert)
	}
}
