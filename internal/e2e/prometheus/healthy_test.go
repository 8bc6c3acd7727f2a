// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// TestAlerts_AreQuietInAHealthyFleet: a busy day of two clusters, each with a
// leader and a standby. One reconcile in 6,000 fails, with a conflict, and
// never twice for one object. The API server throttles a request now and then,
// and is replaced once, for two minutes. Budgets forbid evictions. The leader
// changes once, and each process is replaced once.
//
//req:shows O3
func TestAlerts_AreQuietInAHealthyFleet(t *testing.T) {
	series := both(
		inCluster("east", healthyDay(100)),
		inCluster("west", healthyDay(6000)))
	out, err := unitTest(t, newPack(t).Rules(), map[string]any{
		"input_series": input(series),
		"promql_expr_test": []map[string]any{{
			"expr":      `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[1d]))`,
			"eval_time": "1430m", "exp_samples": []map[string]any{},
		}},
	})
	require.NoError(t, err, out)
}

// healthyDay is a day with a number of reconciles a minute.
func healthyDay(reconciles int) map[string]string {
	i := catalog.Instruments()
	series := map[string]string{}
	leader := func(i catalog.Instrument, suffix, values string, labels ...string) {
		series[on(i, suffix, labels...)] = values
	}
	standby := func(i catalog.Instrument, values string, labels ...string) {
		series[strings.Replace(on(i, "", labels...), "10.0.0.1", "10.0.0.2", 1)] = values
	}
	steadily := func(step int) string { return fmt.Sprintf("0+%dx1440", step) }

	// One conflict in 6,000 reconciles: every minute, or every hour.
	conflicts := steadily(reconciles / 6000)
	if reconciles < 6000 {
		conflicts = ""
		for hour := range 24 {
			conflicts += fmt.Sprintf("%dx59 ", hour)
		}
	}
	leader(i.Reconciles, "", steadily(reconciles), "controller", "runs", "result", "success")
	leader(i.Reconciles, "", strings.TrimSpace(conflicts), "controller", "runs", "result", "error")
	for _, result := range []string{"panic", "terminal_error", "timeout", "requeue_after", "canceled"} {
		leader(i.Reconciles, "", "0x1440", "controller", "runs", "result", result)
	}
	for _, bound := range []string{"0.01", "0.1", "1", "30", "60", "300", "+Inf"} {
		leader(i.ReconcileDuration, "_bucket", steadily(reconciles), "controller", "runs", "result", "success", "le", bound)
	}
	leader(i.ReconcileActive, "", "1x1440", "controller", "runs")
	leader(i.WorkerLimit, "", "4x1440", "controller", "runs")
	leader(i.QueueDepth, "", "5x1440", "controller", "runs")
	leader(i.QueueOldest, "", "2x1440", "controller", "runs")
	leader(i.QueueLongest, "", "3x1440", "controller", "runs")
	leader(i.QueueFailing, "", "0x1440", "controller", "runs")
	leader(i.QueueLongestFailing, "", "5x1440", "controller", "runs")           // at each scrape another item
	leader(i.CacheAge, "", strings.Repeat("0+60x10 ", 130), "resource", "jobs") // etcd notifies each ten minutes
	leader(i.Leader, "", "1x720 0x720", "lease", "agentrun")
	leader(i.Events, "", steadily(3), "controller", "runs", "result", "emitted")
	leader(i.Events, "", "0x1440", "controller", "runs", "result", "dropped")
	leader(i.MissingJobs, "", "0x1440", "controller", "runs")
	leader(i.LabelOverflows, "", "0x1440", "label", "controller")

	requests := 10 * reconciles
	leader(i.ClientRequests, "", steadily(requests), "code", "2xx")
	leader(i.ClientRequests, "", steadily(requests/20), "code", "4xx") // also evictions that budgets forbid
	leader(i.ClientRequests, "", "0x300 1x400 2x400 3x337", "code", "429")
	leader(i.ClientRequests, "", fmt.Sprintf("0x600 0+%dx2 %dx840", requests, 2*requests), "code", "error")
	leader(i.ClientRequests, "", "0x1440", "code", "5xx")

	standby(i.ReconcileActive, "0x1440", "controller", "runs")
	standby(i.QueueOldest, "0+60x720 2x720", "controller", "runs") // it keeps its queue warm
	standby(i.Leader, "0x720 1x720", "lease", "agentrun")
	for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
		series[strings.Replace(upSeries, "10.0.0.1", address, 1)] = "1x400 0x1 1x1040"
		series[strings.Replace(started, "10.0.0.1", address, 1)] = "0x400 24000x1040"
	}
	return series
}
