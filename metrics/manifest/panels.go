// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import "github.com/proompteng/controllerkit/metrics/catalog"

// row is a titled group of panels.
type row struct {
	title  string
	panels []panel
}

// panel is one panel of the dashboard: all its targets have the same unit.
type panel struct {
	title, description string
	stat               bool    // one number instead of lines
	red                float64 // a stat is red from here on, 0 never
	redBelow           bool    // a stat is red below red instead
	stacked            bool    // shares of a whole
	targets            []target
}

type target struct {
	expr   expr
	legend string
}

// lines shows the values of one query, each named by its labels or, without
// any, by name.
func lines(e expr, name ...string) target {
	legend := ""
	for _, label := range e.by {
		if legend != "" {
			legend += " "
		}
		legend += "{{" + label + "}}"
	}
	for _, n := range name {
		if legend != "" {
			legend += " "
		}
		legend += n
	}
	return target{e, legend}
}

// rows is the content of the dashboard: current problems, then traffic and
// errors, latency, saturation, and the states behind them. Every instrument of
// the catalogue is shown somewhere.
func rows(t Target, i catalog.Table) ([]row, error) {
	q := onDashboard(t, i)
	byController := []string{varController}
	byResult := []string{"result"}
	failed := where{"result", failedResults()}
	all := []row{
		{"Now", now(q, i, failed)},
		{"Traffic and errors", []panel{
			{
				title:       "Reconciles by result",
				description: "How many reconciles end per second, and how.",
				stacked:     true,
				targets:     []target{lines(q.rate(i.Reconciles, rateInterval, byResult))},
			},
			{
				title: "Failed share of reconciles",
				description: "Share that ended with an error, a terminal error, a timeout or a " +
					"panic. A controller without reconciles has none.",
				targets: []target{lines(q.ratio(
					q.rate(i.Reconciles, rateInterval, byController, failed),
					q.rate(i.Reconciles, rateInterval, byController)))},
			},
		}},
		{"Latency", []panel{
			{
				title: "Reconcile duration",
				description: "Half of the reconciles are faster than p50, one in a hundred is " +
					"slower than p99.",
				targets: []target{
					lines(q.quantile(0.5, i.ReconcileDuration, rateInterval, byController), "p50"),
					lines(q.quantile(0.99, i.ReconcileDuration, rateInterval, byController), "p99"),
				},
			},
			{
				title: "Reconcile duration by result, p99",
				description: "Failures that take long are timeouts of a dependency; failures " +
					"that take nothing are refused input.",
				targets: []target{lines(q.quantile(0.99, i.ReconcileDuration, rateInterval, byResult))},
			},
			{
				title: "Wait in the queue",
				description: "From ready to taken by a worker. It grows when there are too few " +
					"workers, or slow ones.",
				targets: []target{
					lines(q.quantile(0.5, i.QueueWait, rateInterval, byController), "p50"),
					lines(q.quantile(0.99, i.QueueWait, rateInterval, byController), "p99"),
				},
			},
		}},
		{"Saturation", saturation(q, i)},
		{"Runs", runs(q, i)},
		{"Events and status", eventsAndStatus(q, i)},
		{"API server", api(q, i)},
		{"State", state(q, i)},
		{"Process", processes(q, i)},
	}
	keep(all, q.keep)
	return all, q.err()
}

// keep names the labels that all values keep at the end of each legend.
func keep(all []row, labels []string) {
	for _, r := range all {
		for _, p := range r.panels {
			for n := range p.targets {
				for _, label := range labels {
					p.targets[n].legend += " {{" + label + "}}"
				}
			}
		}
	}
}

func now(q *queries, i catalog.Table, failed where) []panel {
	shown := period{wholeRange, wholeSeconds}
	dropped := where{"result", []string{resultDropped}}
	return []panel{
		{
			title:       "Failed reconciles",
			description: "Share of all reconciles that failed.",
			stat:        true,
			red:         0.1,
			targets: []target{lines(q.ratio(
				q.rate(i.Reconciles, rateInterval, nil, failed),
				q.rate(i.Reconciles, rateInterval, nil)), "failed")},
		},
		{
			title: "Oldest ready item",
			description: "How long the item has waited that no worker has taken for longest. " +
				"The queue of a process that does not lead does not count.",
			stat:    true,
			red:     300,
			targets: []target{lines(q.waiting(i, nil), "oldest")},
		},
		{
			title: "Busy workers",
			description: "Share of the workers that are in a reconcile, of the busiest " +
				"controller. At 100 % its queue grows.",
			stat: true,
			red:  0.95,
			targets: []target{lines(q.busiest(q.ratio(
				q.sum(i.ReconcileActive, []string{varInstance, varController}),
				q.sum(i.WorkerLimit, []string{varInstance, varController}))), "busy")},
		},
		{
			title:       "Leaders",
			description: "Processes that lead, by lease and installation: one is right.",
			stat:        true,
			red:         1,
			redBelow:    true,
			targets:     []target{lines(q.sum(i.Leader, []string{"lease"}))},
		},
		{
			title:       "Jobs that vanished",
			description: "Jobs that were gone before their result was read, in the time shown.",
			stat:        true,
			red:         1,
			targets:     []target{lines(q.increase(i.MissingJobs, shown, wholeRange, nil), "missing")},
		},
		{
			title:       "Events lost",
			description: "Kubernetes events that nobody will see, in the time shown.",
			stat:        true,
			red:         1,
			targets:     []target{lines(q.increase(i.Events, shown, wholeRange, nil, dropped), "dropped")},
		},
	}
}

func saturation(q *queries, i catalog.Table) []panel {
	by := []string{varController}
	return []panel{
		{
			title: "Workers",
			description: "Reconciles that run now, and the most that can. The workers of a " +
				"process that does not lead do not count.",
			targets: []target{
				lines(q.sum(i.ReconcileActive, by), "running"),
				lines(q.ready(i.WorkerLimit, i.Leader, by), "limit"),
			},
		},
		{
			title: "Items in the queue",
			description: "Ready items wait for a worker; delayed ones for their time, after a " +
				"failure or by request. The queue of a process that does not lead does not " +
				"count.",
			targets: []target{
				lines(q.ready(i.QueueDepth, i.Leader, by), "ready"),
				lines(q.ready(i.QueueDelayed, i.Leader, by), "delayed"),
			},
		},
		{
			title:       "Items that fail",
			description: "Items that have failed for 15 minutes or longer, without a success.",
			targets:     []target{lines(q.sum(i.QueueFailing, by))},
		},
		{
			title: "Ages",
			description: "The longest that an item has been ready, that a worker has held one, " +
				"and that one has failed; unfinished is the sum over all workers.",
			targets: []target{
				lines(q.waiting(i, by), "oldest ready"),
				lines(q.highest(i.QueueLongest, by), "longest running"),
				lines(q.highest(i.QueueLongestFailing, by), "longest failing"),
				lines(q.sum(i.QueueUnfinished, by), "unfinished"),
			},
		},
		{
			title:       "Items added",
			description: "Items that became ready, and those handed back after a failure.",
			targets: []target{
				lines(q.rate(i.QueueAdds, rateInterval, by), "added"),
				lines(q.rate(i.QueueRetries, rateInterval, by), "retried"),
			},
		},
	}
}

func runs(q *queries, i catalog.Table) []panel {
	by := []string{varController}
	return []panel{
		{
			title:       "Runs by result",
			description: "Runs (Jobs, workflows) that end per second, and how.",
			stacked:     true,
			targets:     []target{lines(q.rate(i.Runs, rateInterval, []string{"result"}))},
		},
		{
			title: "Run duration",
			description: "From the start of a run to its end. Without a run that ended there " +
				"is none.",
			targets: []target{
				lines(q.quantile(0.5, i.RunDuration, rateInterval, by), "p50"),
				lines(q.quantile(0.95, i.RunDuration, rateInterval, by), "p95"),
			},
		},
		{
			title: "Runs in flight", description: "Runs that have started and not ended.",
			targets: []target{lines(q.sum(i.RunActive, by))},
		},
		{
			title:       "Vanished Jobs",
			description: "Jobs that were gone before their result was read.",
			targets:     []target{lines(q.rate(i.MissingJobs, rateInterval, by))},
		},
		{
			title: "Retention in effect",
			description: "How long a finished Job, a finished run and its logs are kept; 0 " +
				"keeps them for good.",
			targets: []target{
				lines(q.highest(i.JobTTL, by), "Job"),
				lines(q.highest(i.RunRetention, by), "run"),
				lines(q.highest(i.LogRetention, by), "logs"),
			},
		},
	}
}

func eventsAndStatus(q *queries, i catalog.Table) []panel {
	by := []string{varController}
	return []panel{
		{
			title: "Events by result",
			description: "Emitted ones were written. Aggregated ones were counted in a series " +
				"or suppressed, such as conflicts. Dropped ones are lost.",
			stacked: true,
			targets: []target{lines(q.rate(i.Events, rateInterval, []string{"result"}))},
		},
		{
			title: "Status commits by result",
			description: "Unchanged ones wrote nothing; conflicts, merges and errors show who " +
				"else writes.",
			stacked: true,
			targets: []target{lines(q.rate(i.StatusWrites, rateInterval, []string{"result"}))},
		},
		{
			title:       "Status commit duration",
			description: "Of the commits that reached the API server, conflicts included.",
			targets: []target{
				lines(q.quantile(0.5, i.StatusWriteDuration, rateInterval, by), "p50"),
				lines(q.quantile(0.99, i.StatusWriteDuration, rateInterval, by), "p99"),
			},
		},
	}
}

func api(q *queries, i catalog.Table) []panel {
	byVerb := []string{"verb"}
	byResource := []string{"verb", "group", "resource"}
	return []panel{
		{
			title:       "API requests by code",
			description: "Classes of status codes; 429 is the API server's own throttling.",
			stacked:     true,
			targets:     []target{lines(q.rate(i.ClientRequests, rateInterval, []string{"code"}))},
		},
		{
			title: "API requests by resource", description: "Who is asked for most.", stacked: true,
			targets: []target{lines(q.rate(i.ClientRequestDuration, rateInterval, byResource))},
		},
		{
			title:       "API request duration, p99",
			description: "Until the response headers, by verb; a watch until it is established.",
			targets:     []target{lines(q.quantile(0.99, i.ClientRequestDuration, rateInterval, byVerb))},
		},
		{
			title: "Wait for the client's rate limiter",
			description: "Time that requests stood in the client's own queue: raise QPS and " +
				"Burst if it is the delay.",
			targets: []target{
				lines(q.quantile(0.5, i.ClientLimiterWait, rateInterval, nil), "p50"),
				lines(q.quantile(0.99, i.ClientLimiterWait, rateInterval, nil), "p99"),
			},
		},
	}
}

func state(q *queries, i catalog.Table) []panel {
	return []panel{
		{
			title: "Objects by condition",
			description: "Counted in the cache of one process: the greatest of the processes " +
				"of one installation.",
			targets: []target{lines(q.highest(i.Objects, []string{"kind", "condition", "status"}))},
		},
		{
			title: "Leader by process", description: "1 while the process holds the lease.",
			targets: []target{lines(q.highest(i.Leader, []string{varInstance, "lease"}))},
		},
		{
			title: "Age of the caches",
			description: "Time since a cache last got anything from the API server, of the " +
				"process where it is greatest. It grows to a minute or, for a resource that " +
				"nothing changes, to some minutes.",
			targets: []target{lines(q.highest(i.CacheAge, []string{"resource"}))},
		},
		{
			title: "Processes",
			description: "Processes that Prometheus can scrape, of the jobs with such a " +
				"controller.",
			targets: []target{lines(q.upOf(i.Reconciles), "up")},
		},
		{
			title: "Label values beyond the bound",
			description: "Values that were folded into \"other\" or left out since the " +
				"processes started, because there are too many of them.",
			targets: []target{lines(q.total(i.LabelOverflows, []string{"label"}))},
		},
	}
}

func processes(q *queries, i catalog.Table) []panel {
	p := ofProcess()
	by := []string{varInstance}
	cpu := q.rate(p.cpu, rateInterval, targetOf(by))
	cpu.unit = unitCount
	panels := []panel{
		{
			title: "CPU", description: "Cores in use, by process.",
			targets: []target{lines(cpu)},
		},
		{
			title:       "Memory",
			description: "Resident memory, by process. Compare it with the limit of the container.",
			targets:     []target{lines(q.sum(p.memory, targetOf(by)))},
		},
		{
			title: "Goroutines", description: "A number that only grows is a leak.",
			targets: []target{lines(q.sum(p.goroutines, targetOf(by)))},
		},
		{
			title:       "Restarts",
			description: "How often a process began again under its address, in the time shown.",
			targets:     []target{lines(q.restarts(wholeRange, targetOf(by)))},
		},
	}
	for n := range panels {
		t := &panels[n].targets[0]
		t.expr = q.ofControllers(t.expr, i)
		t.legend = "{{" + varInstance + "}}"
	}
	return panels
}

// targetOf are the labels that distinguish processes, and by.
func targetOf(by []string) []string { return append([]string{varNamespace, varJob}, by...) }
