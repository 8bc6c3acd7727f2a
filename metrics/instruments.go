// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"go.opentelemetry.io/otel/metric"
)

// instruments are all instruments of the package. Counters and histograms
// record each occurrence. The callback observes states, such as an age.
type instruments struct {
	reconcileDuration   metric.Float64Histogram
	queueWait           metric.Float64Histogram
	runDuration         metric.Float64Histogram
	statusWriteDuration metric.Float64Histogram
	requestDuration     metric.Float64Histogram

	reconciles   metric.Int64Counter
	queueAdds    metric.Int64Counter
	queueRetries metric.Int64Counter
	runs         metric.Int64Counter
	missingJobs  metric.Int64Counter
	events       metric.Int64Counter
	statusWrites metric.Int64Counter
	requests     metric.Int64Counter
	runActive    metric.Int64UpDownCounter

	reconcileActive metric.Int64ObservableUpDownCounter
	workerLimit     metric.Int64ObservableUpDownCounter
	queueDepth      metric.Int64ObservableUpDownCounter
	failing         metric.Int64ObservableGauge
	objects         metric.Int64ObservableGauge
	leader          metric.Int64ObservableGauge
	failingLongest  metric.Float64ObservableGauge
	queueUnfinished metric.Float64ObservableGauge
	queueLongest    metric.Float64ObservableGauge
	retention       metric.Float64ObservableGauge
	cacheAge        metric.Float64ObservableGauge
}

// builder creates instruments. It collects the errors and the instruments that
// the callback observes.
type builder struct {
	meter    metric.Meter
	observed []metric.Observable
	errs     []error
}

func (b *builder) instruments() instruments {
	return instruments{
		reconcileDuration: b.histogram("controller.reconcile.duration", reconcileSeconds(),
			"Duration of a reconcile."),
		queueWait: b.histogram("controller.queue.wait.duration", waitSeconds(),
			"Time an item was ready before a worker took it."),
		runDuration: b.histogram("controller.run.duration", runSeconds(),
			"Duration of a run (job, workflow) from its start to its end."),
		statusWriteDuration: b.histogram("controller.status_write.duration", requestSeconds(),
			"Duration of a status commit that reached the API server, conflicts included."),
		requestDuration: b.histogram("controller.client.request.duration", requestSeconds(),
			"Duration of a request to the API server until its response headers."),

		reconciles: b.counter("controller.reconciles", "{reconcile}",
			"Reconciles that have ended, by result."),
		queueAdds: b.counter("controller.queue.adds", "{item}",
			"Items that became ready."),
		queueRetries: b.counter("controller.queue.retries", "{item}",
			"Items that were added with a delay."),
		runs: b.counter("controller.runs", "{run}",
			"Runs that have ended, by result."),
		missingJobs: b.counter("controller.missing_jobs", "{job}",
			"Jobs that were gone before their result was read."),
		events: b.counter("controller.events", "{event}",
			"Kubernetes Events by result: emitted, aggregated or dropped."),
		statusWrites: b.counter("controller.status_writes", "{write}",
			"Commits of an object's status, by result; unchanged ones write nothing."),
		requests: b.counter("controller.client.requests", "{request}",
			"Requests to the API server that have ended, by verb, resource and status code."),
		runActive: b.activeRuns("controller.run.active", "{run}",
			"Runs in flight."),

		reconcileActive: b.upDown("controller.reconcile.active", "{reconcile}",
			"Reconciles running now."),
		workerLimit: b.upDown("controller.worker.limit", "{worker}",
			"Most reconciles that can run concurrently."),
		queueDepth: b.upDown("controller.queue.depth", "{item}",
			"Items ready for a worker."),
		failing: b.gauge("controller.failing", "{object}",
			"Objects whose last reconcile failed, by the kind of failure."),
		objects: b.gauge("controller.objects", "{object}",
			"Objects in the cache by kind, condition and status."),
		leader: b.gauge("controller.leader", "",
			"1 while this process holds the lease, 0 while it does not."),
		failingLongest: b.seconds("controller.failing.longest",
			"Time since the object that has failed for longest first failed, 0 when none fails."),
		queueUnfinished: b.seconds("controller.queue.unfinished_work",
			"Sum of the ages of the items that workers hold."),
		queueLongest: b.seconds("controller.queue.longest_running",
			"Age of the item that a worker has held for longest."),
		retention: b.seconds("controller.retention",
			"Time that a finished Job, run or log is kept; 0 keeps it."),
		cacheAge: b.seconds("controller.cache.age",
			"Time since a cache last got anything from the API server."),
	}
}

func (b *builder) histogram(name string, buckets []float64, text string) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(buckets...))
	b.errs = append(b.errs, err)
	return h
}

func (b *builder) counter(name, unit, text string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.errs = append(b.errs, err)
	return c
}

func (b *builder) activeRuns(name, unit, text string) metric.Int64UpDownCounter {
	c, err := b.meter.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.errs = append(b.errs, err)
	return c
}

func (b *builder) upDown(name, unit, text string) metric.Int64ObservableUpDownCounter {
	c, err := b.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.errs = append(b.errs, err)
	b.observed = append(b.observed, c)
	return c
}

func (b *builder) gauge(name, unit, text string) metric.Int64ObservableGauge {
	g, err := b.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.errs = append(b.errs, err)
	b.observed = append(b.observed, g)
	return g
}

func (b *builder) seconds(name, text string) metric.Float64ObservableGauge {
	g, err := b.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(text))
	b.errs = append(b.errs, err)
	b.observed = append(b.observed, g)
	return g
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

func runSeconds() []float64 {
	return []float64{1, 5, 15, 60, 300, 900, 3600, 14400}
}
