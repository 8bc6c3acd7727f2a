// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// recording is a rule that records an expression under another name.
type recording struct {
	name, expr string
	labels     map[string]string
}

// oldNames records the metrics under the names that controller-runtime gives
// them. Metrics with more labels here are summed up. The label instance stays,
// so that rate() of a counter sees its resets.
func oldNames(t Target, i catalog.Table) ([]recording, error) {
	q := inRules(t)
	var all []recording
	kinds := []catalog.Kind{catalog.Counter, catalog.UpDownCounter, catalog.Gauge, catalog.Histogram}
	sum := func(
		name string,
		i catalog.Instrument,
		suffix string,
		without []string,
		labels map[string]string,
		only ...where,
	) {
		q.check(i, without, only, kinds...)
		total := "sum without (" + strings.Join(without, ", ") + ") "
		expr := total + "(" + q.series(i, suffix, only) + ")"
		switch suffix { // a native histogram has one series
		case "_count":
			expr += " or " + total + "(histogram_count(" + q.series(i, "", only) + "))"
		case "_sum":
			expr += " or " + total + "(histogram_sum(" + q.series(i, "", only) + "))"
		}
		all = append(all, recording{name, expr, labels})
	}
	// copied also copies the label from to the label name.
	copied := func(
		name string,
		i catalog.Instrument,
		suffix string,
		without []string,
		from string,
	) {
		sum(name, i, suffix, without, nil)
		r := &all[len(all)-1]
		r.expr = fmt.Sprintf(`label_replace(%s, "name", "$1", "%s", "(.*)")`, r.expr, from)
	}
	result := []string{"result"}
	in := func(values ...string) where { return where{"result", values} }
	failed := in(append(failedResults(), "canceled")...)

	const reconcile, queue = "controller_runtime_reconcile_", "workqueue_"
	for _, r := range []string{"success", "requeue", "requeue_after"} {
		sum(reconcile+"total", i.Reconciles, "", result, map[string]string{"result": r}, in(r))
	}
	sum(reconcile+"total", i.Reconciles, "", result, map[string]string{"result": "error"}, failed)
	sum(reconcile+"errors_total", i.Reconciles, "", result, nil, failed)
	sum("controller_runtime_terminal_reconcile_errors_total",
		i.Reconciles, "", result, nil, in("terminal_error"))
	sum(reconcile+"panics_total", i.Reconciles, "", result, nil, in("panic"))
	sum(reconcile+"timeouts_total", i.Reconciles, "", result, nil, in("timeout"))
	sum("controller_runtime_active_workers", i.ReconcileActive, "", nil, nil)
	sum("controller_runtime_max_concurrent_reconciles", i.WorkerLimit, "", nil, nil)
	for _, suffix := range []string{"_bucket", "_sum", "_count", ""} {
		sum(reconcile+"time_seconds"+suffix, i.ReconcileDuration, suffix, result, nil)
		copied(queue+"work_duration_seconds"+suffix, i.ReconcileDuration, suffix, result, varController)
		copied(queue+"queue_duration_seconds"+suffix, i.QueueWait, suffix, nil, varController)
	}
	copied(queue+"depth", i.QueueDepth, "", nil, varController)
	copied(queue+"adds_total", i.QueueAdds, "", nil, varController)
	copied(queue+"retries_total", i.QueueRetries, "", nil, varController)
	copied(queue+"unfinished_work_seconds", i.QueueUnfinished, "", nil, varController)
	copied(queue+"longest_running_processor_seconds", i.QueueLongest, "", nil, varController)
	copied("leader_election_master_status", i.Leader, "", nil, "lease")
	for _, m := range []struct {
		method string
		verbs  []string
	}{
		{"GET", []string{"get", "list", "watch"}},
		{"POST", []string{"create"}},
		{"PUT", []string{"update"}},
		{"PATCH", []string{"patch"}},
		{"DELETE", []string{"delete", "deletecollection"}},
	} {
		without := []string{"verb", "group", "resource"}
		method := map[string]string{"method": m.method}
		sum("rest_client_requests_total",
			i.ClientRequestDuration, "_count", without, method, where{"verb", m.verbs})
		// With each code from zero on, so that rate() sees the first request.
		r := &all[len(all)-1]
		r.expr += " or 0 * " + q.series(i.ClientRequests, "", nil)
	}
	return all, q.err()
}
