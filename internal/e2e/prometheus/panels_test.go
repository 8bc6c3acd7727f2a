// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/catalog"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestPanelsTellWhatHappened: the value of each panel with one number over a
// quarter of an hour, with all variables at "All".
//
//req:shows O3
func TestPanelsTellWhatHappened(t *testing.T) {
	i := catalog.Instruments()
	queries := map[string]manifest.Query{}
	for _, q := range newPack(t).Queries() {
		queries[q.Source] = q
	}
	for name, tc := range map[string]struct {
		panel  string
		series map[string]string // one value a minute
		after  int
		want   float64
		reason string
	}{
		"jobs, before the first scrape": {
			"panel Jobs that vanished", map[string]string{started: "200x30", on(i.MissingJobs, "", "controller", "runs"): "_x4 7x20"}, 12, 7, "increase() knows nothing of these",
		},
		"jobs, long before": {
			"panel Jobs that vanished", map[string]string{on(i.MissingJobs, "", "controller", "runs"): "7x40"}, 30, 0, "not in the time shown",
		},
		"events, before the first scrape": {
			"panel Events lost", map[string]string{started: "200x30", on(i.Events, "", "controller", "runs", "result", "dropped"): "_x4 3x20"}, 12, 3, "increase() knows nothing of these",
		},
		"jobs, of weeks before a new Prometheus": {
			"panel Jobs that vanished", map[string]string{started: weeksAgo, on(i.MissingJobs, "", "controller", "runs"): "_x4 700x20"}, 12, 0, "not in the time shown",
		},
		"events, of weeks before a new Prometheus": {
			"panel Events lost", map[string]string{started: weeksAgo, on(i.Events, "", "controller", "runs", "result", "dropped"): "_x4 3000x20"}, 12, 0, "not in the time shown",
		},
		"busy workers of two clusters": {
			"panel Busy workers", both(
				inCluster("east", map[string]string{on(i.ReconcileActive, "", "controller", "runs"): "4x20", on(i.WorkerLimit, "", "controller", "runs"): "4x20"}),
				inCluster("west", map[string]string{on(i.ReconcileActive, "", "controller", "runs"): "1x20", on(i.WorkerLimit, "", "controller", "runs"): "4x20"})),
			10, 1.25, "the same address in two clusters is two processes",
		},
		"a standby of another cluster": {
			"panel Oldest ready item", both(
				inCluster("east", map[string]string{on(i.QueueOldest, "", "controller", "runs"): "5x20", on(i.Leader, "", "lease", "agentrun"): "1x20"}),
				inCluster("west", map[string]string{on(i.QueueOldest, "", "controller", "runs"): "7x20", on(i.Leader, "", "lease", "agentrun"): "0x20"})),
			10, 5, "it has the address of the leader",
		},
		"events that were written": {
			"panel Events lost", map[string]string{
				started: "200x30", on(i.Events, "", "controller", "runs", "result", "dropped"): "_x4 0x20", on(i.Events, "", "controller", "runs", "result", "emitted"): "_x4 3x20",
			}, 12, 0, "not lost",
		},
		"labels, at the start": {
			"panel Label values beyond the bound", map[string]string{on(i.LabelOverflows, "", "label", "lease"): "2x90"}, 80, 2, "named once, when the process starts",
		},
		"one of two processes is up, next to another program": {
			"panel Processes", map[string]string{
				upSeries: "1x20", on(i.Reconciles, "", "controller", "runs", "result", "success"): "0+1x20",
				`up{namespace="agents",job="agentrun",instance="b"}`: "0x20", upOther: "1x20", `up{job="node",instance="c"}`: "1x20",
			}, 10, 1, "All means all jobs that have such a controller",
		},
		"a process without a namespace": {
			"panel Processes", map[string]string{
				`up{job="agentrun",instance="a"}`: "1x20", upOther: "1x20",
				i.Reconciles.PrometheusName() + `{job="agentrun",instance="a",controller="runs",result="success"}`: "0+1x20",
			}, 10, 1, "a Prometheus outside of the cluster",
		},
		"no process": {"panel Processes", map[string]string{upOther: "1x20"}, 10, 0, "another program is none"},
		"a standby's queue": {
			"panel Oldest ready item", map[string]string{
				on(i.QueueOldest, "", "controller", "runs"): "3x20", on(i.Leader, "", "lease", "agentrun"): "1x20",
				strings.Replace(on(i.QueueOldest, "", "controller", "runs"), "10.0.0.1", "10.0.0.2", 1): "0+60x20",
				strings.Replace(on(i.Leader, "", "lease", "agentrun"), "10.0.0.1", "10.0.0.2", 1):       "0x20",
			}, 10, 3, "no worker takes it before the process leads",
		},
		"a queue without a lease": {
			"panel Oldest ready item", map[string]string{on(i.QueueOldest, "", "controller", "runs"): "0+60x20"}, 10, 600, "all lead",
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, ok := queries[tc.panel]
			require.True(t, ok)
			out, err := unitTest(t, []byte("groups: []"), map[string]any{
				"input_series": input(tc.series),
				"promql_expr_test": []map[string]any{{
					"expr": "sum(" + q.Instant(15*time.Minute) + ")", "eval_time": fmt.Sprint(tc.after, "m"),
					"exp_samples": []map[string]any{{"labels": "{}", "value": tc.want}},
				}},
			})
			require.NoError(t, err, "%s: %s", tc.reason, out)
		})
	}
}
