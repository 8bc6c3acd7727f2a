// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/catalog"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

func newPack(t *testing.T, target manifest.Target) *manifest.Bundle {
	t.Helper()
	if target.Name == "" {
		target.Name = "agentrun"
	}
	p, err := manifest.New(target)
	require.NoError(t, err)
	return p
}

//req:shows O3
func TestTheDashboardHasNoFaults(t *testing.T) {
	assert.Empty(t, faults(newPack(t, manifest.Target{}).Dashboard()))
}

// The check must fail on a fault: each fault is put into the real dashboard and
// must be reported.
//
//req:shows O3
func TestSeededFaultsAreFound(t *testing.T) {
	good := string(newPack(t, manifest.Target{}).Dashboard())
	for name, tc := range map[string]struct{ old, with, want, reason string }{
		"a metric is renamed":     {"controller_reconciles_total", "controller_reconcile_total", "not a metric of the catalogue", "renamed in code, not in the dashboard"},
		"a label is dropped":      {"sum by (cluster, namespace, job, result)", "sum by (cluster, namespace, job, reason)", `grouped by "reason"`, "the instrument has no such label"},
		"a matcher is wrong":      {`result=\"dropped\"`, `outcome=\"dropped\"`, `no label "outcome"`, "selects nothing"},
		"seconds shown as ms":     {`"unit": "s"`, `"unit": "ms"`, `unit "ms" of values in "s"`, "a thousand times too fast"},
		"a count shown as time":   {`"unit": "ops"`, `"unit": "s"`, `of values in "ops"`, "another unit"},
		"a rate of a gauge":       {"max by (cluster, namespace, job) (controller_queue_oldest_seconds", "max by (cluster, namespace, job) (rate(controller_queue_oldest_seconds", "rate of controller_queue_oldest_seconds", "means nothing"},
		"a counter without rate":  {"sum by (cluster, namespace, job, result) (rate(", "sum by (cluster, namespace, job, result) ((", "of controller_reconciles_total", "only grows"},
		"an increase alone":       {" unless last_over_time(", " unless (", "counted before the first scrape", "increase knows nothing of it"},
		"a set without label":     {"on (cluster, namespace, job, instance) (max by (cluster, namespace, job, instance)", "on (cluster, namespace, job, instance) (max by (cluster, namespace, job, result)", `grouped by "result"`, "a lease has none"},
		"a set of nothing":        {"on (cluster, namespace, job) (controller_reconciles_total", "on (cluster, namespace, job) (controller_reconcile_total", "not a metric of the catalogue", "no process counts"},
		"other new series":        {`result=\"dropped\"}[$__range]) unless`, `result=\"emitted\"}[$__range]) unless`, "new series of one kind", "events that were not lost"},
		"an old process":          {"time() - $__range_s", "time() - 864000", "a process that started within 864000 seconds", "counts of ten days"},
		"an unguarded ratio":      {"> 0)", ")", "can be 0/0", "NaN while idle"},
		"no native quantile":      {" or histogram_quantile(", " or vector(", "fixed buckets alone", "empty with native histograms"},
		"no native rate":          {"histogram_count(", "(", "fixed buckets alone", "empty with native histograms"},
		"an unguarded quantile":   {")))) >= 0", "))))", "a quantile that is NaN", "no value says more than NaN"},
		"+Inf alone":              {", le)", ")", "has no buckets", "a quantile of nothing is NaN"},
		"the sum for the buckets": {"_bucket{", "_sum{", "has no buckets", "no quantile"},
		"an unknown variable":     {`job=~\"$job\"`, `job=~\"$service\"`, "variable service is not defined", "the panel is empty"},
		"an unused cluster":       {`cluster=~\"$cluster\"`, `cluster=~\".*\"`, "variable cluster is never used", "a choice without effect"},
		"an unused variable":      {`instance=~\"$instance\"`, `instance=~\".+\"`, "variable instance is never used", "a choice without effect"},
		"a fixed data source":     {`"uid": "${datasource}"`, `"uid": "prometheus"`, "variable cluster: a fixed data source", "a fixed data source ignores the user's choice"},
		"an id twice":             {`"id": 7,`, `"id": 6,`, "id 6", "Grafana renumbers, links break"},
		"overlapping panels":      {`"x": 4,`, `"x": 2,`, "overlaps", "one hides the other"},
		"out of the grid":         {`"x": 20,`, `"x": 21,`, "outside of the grid", "24 columns"},
		"no title":                {`"title": "Workers"`, `"title": ""`, `title ""`, "a reader must know the subject of a panel"},
		"a title twice":           {`"title": "Workers"`, `"title": "Ages"`, `title "Ages"`, "which one?"},
		"no description":          {`"description": "Half of the reconciles are faster than p50, one in a hundred is slower than p99."`, `"description": ""`, "no description", "what does it mean?"},
		"a legend without label":  {`"legendFormat": "\u007b\u007bcontroller}} p50 \u007b\u007bcluster}} \u007b\u007bnamespace}} \u007b\u007bjob}}"`, `"legendFormat": "\u007b\u007bpod}} p50"`, `names "pod"`, "an empty name"},
		"a fixed window":          {"[$__rate_interval]", "[1m]", `the window "1m"`, "empty when Prometheus scrapes more rarely"},
		"a choice of one":         {`"multi": true`, `"multi": false`, "want a choice of several", "all controllers at a glance"},
		"editable":                {`"editable": false`, `"editable": true`, "can be edited", "changes would be lost"},
		"no JSON":                 {`"panels": [`, `"panels": {`, "invalid character", "a torn file"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, good, tc.old)
			bad := strings.Replace(good, tc.old, tc.with, 1)
			if strings.Contains(name, "unused") || strings.Contains(name, "matcher") || strings.Contains(name, "le)") {
				bad = strings.ReplaceAll(good, tc.old, tc.with)
			}
			assert.Contains(t, strings.Join(faults([]byte(bad)), "\n"), tc.want, tc.reason)
		})
	}
}

func TestEveryQueryOfTheAlertsFitsTheCatalogue(t *testing.T) {
	for _, a := range newPack(t, manifest.Target{Namespace: "agents"}).Alerts() {
		assert.Empty(t, queryFaults(a.Expr, "5m", "15m", "20m", "1h"), a.Name)
		for l := range strings.SplitSeq(a.Summary+a.Description, "$labels.") {
			label, _, found := strings.Cut(l, " ")
			if found && strings.HasPrefix(l[len(label):], " }}") {
				assert.Contains(t, grouping(a.Expr), label, "%s tells a label that its query drops", a.Name)
			}
		}
	}
}

//req:shows O3
func TestEveryInstrumentIsShown(t *testing.T) {
	dashboard := string(newPack(t, manifest.Target{}).Dashboard())
	for _, i := range catalog.Instruments().All() {
		assert.Contains(t, dashboard, i.PrometheusName(), "%s is recorded and no panel shows it", i.Name)
	}
}

// The catalogue does not list the labels' values: the queries name them and the
// recorders set them.
func TestTheValuesOfLabelsAreThoseThatAreRecorded(t *testing.T) {
	var failed []string
	for r := range metrics.Result(255) {
		if r.Failed() && !strings.Contains(strings.Join(failed, "|"), r.String()) {
			failed = append(failed, r.String())
		}
	}
	var seen bool
	for _, q := range newPack(t, manifest.Target{}).Queries() {
		if strings.Contains(q.Expr, "result=~") {
			seen = true
			matcher := q.Expr[strings.Index(q.Expr, "result=~\"")+len("result=~\""):]
			matcher, _, _ = strings.Cut(matcher, `"`)
			assert.ElementsMatch(t, failed, strings.Split(matcher, "|"), q.Source)
		}
	}
	assert.True(t, seen)
}

func TestAlertsTellWhatToDo(t *testing.T) {
	names := map[string]bool{}
	for _, a := range newPack(t, manifest.Target{}).Alerts() {
		assert.Regexp(t, `^Controller[A-Z]\w+$`, a.Name)
		assert.False(t, names[a.Name], "%s is named twice", a.Name)
		names[a.Name] = true
		assert.Contains(t, []string{"critical", "warning"}, a.Severity, a.Name)
		assert.Regexp(t, `\.$`, a.Summary, a.Name)
		assert.Regexp(t, `\.$`, a.Description, a.Name)
		assert.Less(t, len(a.Summary), len(a.Description), a.Name)
		assert.Equal(t, "https://github.com/proompteng/controllerkit/blob/v0.1.0/examples/operate/runbooks/"+a.Name+".md", a.RunbookURL)
		assert.GreaterOrEqual(t, a.For.Seconds(), 0., a.Name)
	}
	assert.GreaterOrEqual(t, len(names), 8)
}

func TestEqualTargetsGiveEqualBytes(t *testing.T) {
	target := manifest.Target{
		Labels:   map[string]string{"release": "prometheus", "team": "agents", "app": "a", "z": "1", "b": "2"},
		Selector: map[string]string{"app.kubernetes.io/name": "agentrun", "app.kubernetes.io/component": "controller"},
	}
	render := func(p *manifest.Bundle) []byte {
		return bytes.Join([][]byte{p.Dashboard(), p.DashboardConfigMap(), p.ServiceMonitor(), p.PrometheusRule(), p.Rules()}, nil)
	}
	want := render(newPack(t, target))
	var wg sync.WaitGroup
	shared := newPack(t, target)
	for range 8 {
		wg.Go(func() {
			assert.Equal(t, want, render(newPack(t, target)))
			assert.Equal(t, want, render(shared), "one pack for all")
		})
	}
	wg.Wait()
	target.Labels["team"] = "changed"
	assert.Equal(t, want, render(shared), "the caller's maps are the caller's")
}

// kubectl apply keeps the whole object in an annotation, which may be 256 KiB
// long.
func TestTheConfigMapCanBeApplied(t *testing.T) {
	assert.Less(t, len(newPack(t, manifest.Target{}).DashboardConfigMap()), 200<<10)
}

// TestPanels_StepByTheInterval: Grafana's $__rate_interval is at least four
// minimum steps of the panel, and a rate needs two scrapes. Without a minimum
// step it assumes a scrape every 15 seconds.
//
//req:shows O3
func TestPanels_StepByTheInterval(t *testing.T) {
	for step, interval := range map[string]time.Duration{
		"30s":  0,
		"15s":  15 * time.Second,
		"120s": 2 * time.Minute,
	} {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Interval string }
			}
		}
		require.NoError(t, json.Unmarshal(newPack(t, manifest.Target{Interval: interval}).Dashboard(), &dashboard))
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				assert.Equal(t, step, target.Interval, panel.Title)
			}
		}
	}
}
