// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// TestPanels_MixNoInstallations: the values of a panel while two installations,
// two shards or a standby are selected. The labels of each value name its
// installation.
//
//req:shows O3
func TestPanels_MixNoInstallations(t *testing.T) {
	i := catalog.Instruments()
	red := map[string]string{"job": "runs-red"}
	standby := map[string]string{"instance": "10.0.0.2:8080"}
	depth := on(i.QueueDepth, "", "controller", "runs")
	delayed := on(i.QueueDelayed, "", "controller", "runs")
	limit := on(i.WorkerLimit, "", "controller", "runs")
	leader := on(i.Leader, "", "lease", "agentrun")
	objects := on(i.Objects, "", "kind", "AgentRun", "condition", "Ready", "status", "True")
	for name, tc := range map[string]struct {
		reason string
		panel  string
		query  int
		series map[string]string // one value a minute
		want   map[string]float64
	}{
		"LeadersOfTwoInstallations": {
			"Two leaders of two installations are not two leaders of one.", "Leaders", 0,
			both(map[string]string{leader: "1x20"}, changed(red, map[string]string{leader: "1x20"})),
			map[string]float64{`job="agentrun",lease="agentrun"`: 1, `job="runs-red",lease="agentrun"`: 1},
		},
		"ObjectsOfTwoShards": {
			"Each shard has its own objects.", "Objects by condition", 0,
			both(map[string]string{objects: "12x20"}, changed(red, map[string]string{objects: "7x20"})),
			map[string]float64{
				`condition="Ready",job="agentrun",kind="AgentRun",status="True"`: 12,
				`condition="Ready",job="runs-red",kind="AgentRun",status="True"`: 7,
			},
		},
		"ObjectsOfAStandby": {
			"A standby caches the same objects.", "Objects by condition", 0,
			both(map[string]string{objects: "12x20"}, changed(standby, map[string]string{objects: "11x20"})),
			map[string]float64{`condition="Ready",job="agentrun",kind="AgentRun",status="True"`: 12},
		},
		"ReadyItemsOfTwoShards": {
			"Each shard has its own queue.", "Items in the queue", 0,
			both(map[string]string{depth: "3x20"}, changed(red, map[string]string{depth: "5x20"})),
			map[string]float64{`controller="runs",job="agentrun"`: 3, `controller="runs",job="runs-red"`: 5},
		},
		"ReadyItemsOfAStandby": {
			"A standby keeps its queue warm, and no worker takes from it.", "Items in the queue", 0,
			both(map[string]string{depth: "3x20", leader: "1x20"}, changed(standby, map[string]string{depth: "900x20", leader: "0x20"})),
			map[string]float64{`controller="runs",job="agentrun"`: 3},
		},
		"DelayedItemsOfAStandby": {
			"A standby keeps its queue warm, and no worker takes from it.", "Items in the queue", 1,
			both(map[string]string{delayed: "3x20", leader: "1x20"}, changed(standby, map[string]string{delayed: "900x20", leader: "0x20"})),
			map[string]float64{`controller="runs",job="agentrun"`: 3},
		},
		"WorkersOfAStandby": {
			"The workers of a standby do not work.", "Workers", 1,
			both(map[string]string{limit: "4x20", leader: "1x20"}, changed(standby, map[string]string{limit: "4x20", leader: "0x20"})),
			map[string]float64{`controller="runs",job="agentrun"`: 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var targets []string
			for _, q := range newPack(t).Queries() {
				if q.Source == "panel "+tc.panel {
					targets = append(targets, q.Instant(15*time.Minute))
				}
			}
			require.Greater(t, len(targets), tc.query)
			var samples []map[string]any
			for labels, value := range tc.want {
				samples = append(samples, map[string]any{"labels": `{namespace="agents",` + labels + `}`, "value": value})
			}
			out, err := unitTest(t, []byte("groups: []"), map[string]any{
				"input_series":     input(tc.series),
				"promql_expr_test": []map[string]any{{"expr": targets[tc.query], "eval_time": "10m", "exp_samples": samples}},
			})
			require.NoError(t, err, "%s: %s", tc.reason, out)
		})
	}
}

// changed replaces labels of all series.
func changed(labels, series map[string]string) map[string]string {
	all := maps.Clone(series)
	for name, value := range labels {
		next := map[string]string{}
		for s, values := range all {
			before, rest, _ := strings.Cut(s, name+`="`)
			_, rest, _ = strings.Cut(rest, `"`)
			next[fmt.Sprintf(`%s%s=%q%s`, before, name, value, rest)] = values
		}
		all = next
	}
	return all
}
