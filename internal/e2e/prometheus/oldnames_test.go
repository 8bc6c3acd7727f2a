// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/catalog"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestOldQueriesAnswer: queries as dashboards and alerts of controller-runtime
// have them give the right numbers on the recorded names.
//
//req:shows O3
func TestOldQueriesAnswer(t *testing.T) {
	p, err := manifest.New(manifest.Target{Name: "agentrun", Namespace: "agents", OldNames: true})
	require.NoError(t, err)
	i := catalog.Instruments()
	of := func(i catalog.Instrument, suffix string, labels ...string) string {
		return on(i, suffix, append([]string{"controller", "runs"}, labels...)...)
	}
	request := func(verb, code string) string {
		return on(i.ClientRequestDuration, "_count", "verb", verb, "group", "batch", "resource", "jobs", "code", code)
	}
	series := map[string]string{ // one value a minute
		of(i.Reconciles, "", "result", "success"):        "0+60x60",
		of(i.Reconciles, "", "result", "requeue_after"):  "0+30x60",
		of(i.Reconciles, "", "result", "error"):          "0+6x60",
		of(i.Reconciles, "", "result", "terminal_error"): "0+6x60",
		of(i.Reconciles, "", "result", "timeout"):        "0+12x60",
		of(i.Reconciles, "", "result", "panic"):          "0+18x60",
		of(i.ReconcileActive, ""):                        "3x60",
		of(i.WorkerLimit, ""):                            "4x60",
		of(i.QueueDepth, ""):                             "5x60",
		of(i.QueueAdds, ""):                              "0+120x60",
		of(i.QueueRetries, ""):                           "0+60x60",
		of(i.QueueUnfinished, ""):                        "6x60",
		of(i.QueueLongest, ""):                           "7x60",
		on(i.Leader, "", "lease", "agents"):              "1x60",
		request("get", "2xx"):                            "0+60x60",
		request("list", "2xx"):                           "0+60x60",
		request("patch", "5xx"):                          "0+30x60",
		request("create", "429"):                         "0+6x60",
	}
	for _, result := range []string{"success", "error"} {
		for le, values := range map[string]string{"0.1": "0+30x60", "1": "0+60x60", "+Inf": "0+60x60"} {
			series[of(i.ReconcileDuration, "_bucket", "result", result, "le", le)] = values
		}
		series[of(i.ReconcileDuration, "_count", "result", result)] = "0+60x60"
		series[of(i.ReconcileDuration, "_sum", "result", result)] = "0+30x60"
	}
	for le, values := range map[string]string{"0.1": "0+30x60", "1": "0+60x60", "+Inf": "0+60x60"} {
		series[of(i.QueueWait, "_bucket", "le", le)] = values
	}
	queries := map[string]struct {
		labels string
		want   float64
	}{
		`sum by (controller, result) (rate(controller_runtime_reconcile_total{result="success"}[5m]))`:                                  {`{controller="runs",result="success"}`, 1},
		`sum by (controller, result) (rate(controller_runtime_reconcile_total{result="requeue_after"}[5m]))`:                            {`{controller="runs",result="requeue_after"}`, .5},
		`sum by (controller, result) (rate(controller_runtime_reconcile_total{result="error"}[5m]))`:                                    {`{controller="runs",result="error"}`, .7},
		`sum(rate(controller_runtime_reconcile_total{job="agentrun"}[5m])) by (instance)`:                                               {`{instance="10.0.0.1:8080"}`, 2.2},
		`sum(rate(controller_runtime_reconcile_errors_total{namespace="agents"}[5m])) by (controller)`:                                  {`{controller="runs"}`, .7},
		`sum(rate(controller_runtime_terminal_reconcile_errors_total[5m])) by (controller)`:                                             {`{controller="runs"}`, .1},
		`sum(rate(controller_runtime_reconcile_timeouts_total[5m])) by (controller)`:                                                    {`{controller="runs"}`, .2},
		`sum(rate(controller_runtime_reconcile_panics_total[5m])) by (controller)`:                                                      {`{controller="runs"}`, .3},
		`histogram_quantile(0.5, sum(rate(controller_runtime_reconcile_time_seconds_bucket[5m])) by (le))`:                              {`{}`, .1},
		`sum(rate(controller_runtime_reconcile_time_seconds_sum[5m])) / sum(rate(controller_runtime_reconcile_time_seconds_count[5m]))`: {`{}`, .5},
		`sum by (controller) (controller_runtime_active_workers) / sum by (controller) (controller_runtime_max_concurrent_reconciles)`:  {`{controller="runs"}`, .75},
		`sum(workqueue_depth) by (name)`:                                                                {`{name="runs"}`, 5},
		`sum(rate(workqueue_adds_total[5m])) by (instance, name)`:                                       {`{instance="10.0.0.1:8080",name="runs"}`, 2},
		`sum(rate(workqueue_retries_total[5m])) by (name)`:                                              {`{name="runs"}`, 1},
		`max by (name) (workqueue_unfinished_work_seconds)`:                                             {`{name="runs"}`, 6},
		`max by (name) (workqueue_longest_running_processor_seconds)`:                                   {`{name="runs"}`, 7},
		`histogram_quantile(0.5, sum(rate(workqueue_queue_duration_seconds_bucket[5m])) by (name, le))`: {`{name="runs"}`, .1},
		`histogram_quantile(0.5, sum(rate(workqueue_work_duration_seconds_bucket[5m])) by (name, le))`:  {`{name="runs"}`, .1},
		`sum(rate(rest_client_requests_total{method="GET",code=~"2.."}[5m]))`:                           {`{}`, 2},
		`sum(rate(rest_client_requests_total{code=~"5.."}[5m])) by (method)`:                            {`{method="PATCH"}`, .5},
		`sum(rate(rest_client_requests_total{code="429"}[5m])) by (method)`:                             {`{method="POST"}`, .1},
		`sum by (name) (leader_election_master_status)`:                                                 {`{name="agents"}`, 1},
	}
	var expected []map[string]any
	for expr, want := range queries {
		expected = append(expected, map[string]any{
			"expr": "round(" + expr + ", 0.001)", "eval_time": "30m", "exp_samples": []map[string]any{{"labels": want.labels, "value": want.want}},
		})
	}
	out, err := check(t, p.Rules())
	require.NoError(t, err, out)
	out, err = unitTest(t, p.Rules(), map[string]any{"input_series": input(series), "promql_expr_test": expected})
	require.NoError(t, err, out)

	first := map[string]string{
		on(i.ClientRequests, "", "code", "2xx"): "0+60x60", on(i.ClientRequests, "", "code", "429"): "0x20 1x40",
		request("create", "429"): "_x20 1x40", request("get", "2xx"): "0+60x60",
	}
	out, err = unitTest(t, p.Rules(), map[string]any{"input_series": input(first), "promql_expr_test": []map[string]any{{
		"expr": `sum(increase(rest_client_requests_total{code="429"}[10m])) > bool 0.5`, "eval_time": "25m",
		"exp_samples": []map[string]any{{"labels": "{}", "value": 1}},
	}, {
		"expr": `sum by (method) (rate(rest_client_requests_total{code="2xx"}[10m])) > 0`, "eval_time": "25m",
		"exp_samples": []map[string]any{{"labels": `{method="GET"}`, "value": 1}},
	}}})
	require.NoError(t, err, "the first throttled request is seen: %s", out)

	plain, err := manifest.New(manifest.Target{Name: "agentrun"})
	require.NoError(t, err)
	assert.NotContains(t, string(plain.Rules()), "controller_runtime_", "only on request: controller-runtime's own would count twice")
}
