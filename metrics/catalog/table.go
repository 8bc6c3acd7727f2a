// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

// Table has one field per instrument, so that a use of an instrument that no
// longer exists does not compile.
type Table struct {
	ReconcileDuration     Instrument
	Reconciles            Instrument
	ReconcileActive       Instrument
	WorkerLimit           Instrument
	QueueDepth            Instrument
	QueueDelayed          Instrument
	QueueAdds             Instrument
	QueueRetries          Instrument
	QueueWait             Instrument
	QueueOldest           Instrument
	QueueUnfinished       Instrument
	QueueLongest          Instrument
	QueueFailing          Instrument
	QueueLongestFailing   Instrument
	RunDuration           Instrument
	Runs                  Instrument
	RunActive             Instrument
	MissingJobs           Instrument
	Events                Instrument
	StatusWrites          Instrument
	StatusWriteDuration   Instrument
	JobTTL                Instrument
	RunRetention          Instrument
	LogRetention          Instrument
	Objects               Instrument
	Leader                Instrument
	CacheAge              Instrument
	ClientRequests        Instrument
	ClientRequestDuration Instrument
	ClientLimiterWait     Instrument
	LabelOverflows        Instrument
}

// Instruments returns the table. Each call returns a fresh copy.
func Instruments() Table {
	return Table{
		ReconcileDuration: Instrument{
			Name: "controller.reconcile.duration", Unit: "s", Kind: Histogram,
			Attributes:  []string{"controller", "result"},
			Description: "Duration of a reconcile.",
			Buckets:     reconcileSeconds(),
		},
		Reconciles: Instrument{
			Name: "controller.reconciles", Unit: "{reconcile}", Kind: Counter,
			Attributes:  []string{"controller", "result"},
			Description: "Reconciles that have ended, by result.",
		},
		ReconcileActive: Instrument{
			Name: "controller.reconcile.active", Unit: "{reconcile}", Kind: UpDownCounter,
			Attributes:  []string{"controller"},
			Description: "Reconciles running now.",
		},
		WorkerLimit: Instrument{
			Name: "controller.worker.limit", Unit: "{worker}", Kind: UpDownCounter,
			Attributes:  []string{"controller"},
			Description: "Most reconciles that can run at once.",
		},
		QueueDepth: Instrument{
			Name: "controller.queue.depth", Unit: "{item}", Kind: UpDownCounter,
			Attributes:  []string{"controller"},
			Description: "Items ready for a worker.",
		},
		QueueDelayed: Instrument{
			Name: "controller.queue.delayed", Unit: "{item}", Kind: UpDownCounter,
			Attributes: []string{"controller"},
			Description: "Items that wait for their time: added with a delay or held back " +
				"after a failure.",
		},
		QueueAdds: Instrument{
			Name: "controller.queue.adds", Unit: "{item}", Kind: Counter,
			Attributes:  []string{"controller"},
			Description: "Items that became ready.",
		},
		QueueRetries: Instrument{
			Name: "controller.queue.retries", Unit: "{item}", Kind: Counter,
			Attributes:  []string{"controller"},
			Description: "Items handed back to the rate limiter after a failure.",
		},
		QueueWait: Instrument{
			Name: "controller.queue.wait.duration", Unit: "s", Kind: Histogram,
			Attributes:  []string{"controller"},
			Description: "Time an item was ready before a worker took it.",
			Buckets:     waitSeconds(),
		},
		QueueOldest: Instrument{
			Name: "controller.queue.oldest", Unit: "s", Kind: Gauge,
			Attributes:  []string{"controller"},
			Description: "Age of the item that has been ready for longest, 0 when none is ready.",
		},
		QueueUnfinished: Instrument{
			Name: "controller.queue.unfinished_work", Unit: "s", Kind: Gauge,
			Attributes:  []string{"controller"},
			Description: "Sum of the ages of the items that workers hold.",
		},
		QueueLongest: Instrument{
			Name: "controller.queue.longest_running", Unit: "s", Kind: Gauge,
			Attributes:  []string{"controller"},
			Description: "Age of the item that a worker has held for longest.",
		},
		QueueFailing: Instrument{
			Name: "controller.queue.failing", Unit: "{item}", Kind: UpDownCounter,
			Attributes:  []string{"controller"},
			Description: "Items that have failed for 15 minutes or longer, without a success.",
		},
		QueueLongestFailing: Instrument{
			Name: "controller.queue.longest_failing", Unit: "s", Kind: Gauge,
			Attributes: []string{"controller"},
			Description: "How long the item has failed that has failed for longest, 0 when " +
				"none fails.",
		},
		RunDuration: Instrument{
			Name: "controller.run.duration", Unit: "s", Kind: Histogram,
			Attributes:  []string{"controller", "result"},
			Description: "Duration of a run (job, workflow) from its start to its end.",
			Buckets:     []float64{1, 5, 15, 60, 300, 900, 3600, 14400},
		},
		Runs: Instrument{
			Name: "controller.runs", Unit: "{run}", Kind: Counter,
			Attributes:  []string{"controller", "result"},
			Description: "Runs that have ended, by result.",
		},
		RunActive: Instrument{
			Name: "controller.run.active", Unit: "{run}", Kind: UpDownCounter,
			Attributes:  []string{"controller"},
			Description: "Runs in flight.",
		},
		MissingJobs: Instrument{
			Name: "controller.missing_jobs", Unit: "{job}", Kind: Counter,
			Attributes:  []string{"controller"},
			Description: "Jobs that were gone before their result was read.",
		},
		Events: Instrument{
			Name: "controller.events", Unit: "{event}", Kind: Counter,
			Attributes:  []string{"controller", "result"},
			Description: "Kubernetes Events by result: emitted, aggregated or dropped.",
		},
		StatusWrites: Instrument{
			Name: "controller.status_writes", Unit: "{write}", Kind: Counter,
			Attributes:  []string{"controller", "result"},
			Description: "Commits of an object's status, by result; unchanged ones write nothing.",
		},
		StatusWriteDuration: Instrument{
			Name: "controller.status_write.duration", Unit: "s", Kind: Histogram,
			Attributes: []string{"controller"},
			Description: "Duration of a status commit that reached the API server, conflicts " +
				"included.",
			Buckets: requestSeconds(),
		},
		JobTTL: Instrument{
			Name: "controller.job.ttl", Unit: "s", Kind: Gauge,
			Attributes:  []string{"controller"},
			Description: "Time a finished Job is kept after its result is recorded; 0 keeps it.",
		},
		RunRetention: Instrument{
			Name: "controller.run.retention", Unit: "s", Kind: Gauge,
			Attributes:  []string{"controller"},
			Description: "Time a finished run is kept; 0 keeps it.",
		},
		LogRetention: Instrument{
			Name: "controller.log.retention", Unit: "s", Kind: Gauge,
			Attributes:  []string{"controller"},
			Description: "Time the logs of a run are meant to be kept; 0 sets no limit.",
		},
		Objects: Instrument{
			Name: "controller.objects", Unit: "{object}", Kind: Gauge,
			Attributes:  []string{"kind", "condition", "status"},
			Description: "Objects in the cache by kind, condition and status.",
		},
		Leader: Instrument{
			Name: "controller.leader", Unit: "", Kind: Gauge,
			Attributes:  []string{"lease"},
			Description: "1 while this process holds the lease, 0 while it does not.",
		},
		CacheAge: Instrument{
			Name: "controller.cache.age", Unit: "s", Kind: Gauge,
			Attributes:  []string{"resource"},
			Description: "Time since a cache last got anything from the API server.",
		},
		ClientRequests: Instrument{
			Name: "controller.client.requests", Unit: "{request}", Kind: Counter,
			Attributes:  []string{"code"},
			Description: "Requests to the API server that have ended, by class of status code.",
		},
		ClientRequestDuration: Instrument{
			Name: "controller.client.request.duration", Unit: "s", Kind: Histogram,
			Attributes:  []string{"verb", "group", "resource", "code"},
			Description: "Duration of a request to the API server until its response headers.",
			Buckets:     requestSeconds(),
		},
		ClientLimiterWait: Instrument{
			Name: "controller.client.limiter.wait.duration", Unit: "s", Kind: Histogram,
			Description: "Time a request waited for the client's own rate limiter.",
			Buckets:     waitSeconds(),
		},
		LabelOverflows: Instrument{
			Name: "controller.label_overflows", Unit: "{value}", Kind: Counter,
			Attributes: []string{"label"},
			Description: "How often a label value was folded into \"other\" or left out, " +
				"because the number of values is bounded.",
		},
	}
}

// All lists the rows in the order of the fields.
func (t Table) All() []Instrument {
	return []Instrument{
		t.ReconcileDuration, t.Reconciles, t.ReconcileActive, t.WorkerLimit,
		t.QueueDepth, t.QueueDelayed, t.QueueAdds, t.QueueRetries,
		t.QueueWait, t.QueueOldest, t.QueueUnfinished, t.QueueLongest,
		t.QueueFailing, t.QueueLongestFailing,
		t.RunDuration, t.Runs, t.RunActive, t.MissingJobs,
		t.Events, t.StatusWrites, t.StatusWriteDuration,
		t.JobTTL, t.RunRetention, t.LogRetention,
		t.Objects, t.Leader, t.CacheAge,
		t.ClientRequests, t.ClientRequestDuration, t.ClientLimiterWait,
		t.LabelOverflows,
	}
}

// reconcileSeconds runs from a reconcile that finds nothing to do in the cache
// to a reconcile that should have been a Job.
func reconcileSeconds() []float64 {
	return []float64{.0001, .0005, .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
}

// waitSeconds begins at ten microseconds, because an item of an idle controller
// waits for less than a hundred.
func waitSeconds() []float64 {
	return []float64{
		.00001, .000025, .00005, .0001, .00025, .0005, .001, .005, .01, .05,
		.1, .25, .5, 1, 2.5, 5, 10, 60, 300,
	}
}

// requestSeconds ends at 60 s, the API server's default limit for a request
// that is not a watch.
func requestSeconds() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}
