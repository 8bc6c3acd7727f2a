// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics records reconciles, queues, runs, events and status writes of
// a controller through OpenTelemetry.
//
// Each set of instruments belongs to the meter provider that you pass. One
// reconcile costs one histogram record and no allocation. The counters of its
// reconciles, without the one of Unknown, exist at zero as soon as the
// controller does, so that rate() sees the first error. Others exist from the
// call that asks for them.
//
//	endpoint, err := prom.New(prom.Options{}) // or any meter provider
//	m, err := metrics.New(endpoint, metrics.Options{})
//	r := &Reconciler{metrics: m.Controller("agentrun")}
//	// Or, on your mux: mux.Handle("GET /metrics", endpoint)
//	go func() { ended <- endpoint.Serve(ctx, listener) }()
//
//	func (r *Reconciler) Reconcile(ctx context.Context, key string) (err error) {
//		var result metrics.Result
//		defer r.metrics.Begin().End(ctx, &result)
//		err = r.reconcile(ctx, key)
//		result = metrics.Classify(err, 0, events.IsTerminal)
//		return err
//	}
//
// With a tracer, BeginSpan also starts a span. The exemplar and the log lines
// have its IDs:
//
//	ctx, attempt := r.metrics.BeginSpan(ctx, r.tracer, "reconcile AgentRun")
//	defer attempt.End(ctx, &result)
//
// A reconcile that returns before the assignment to result counts as "unknown",
// and a reconcile that panics as "panic".
//
// A controller has a few series: its reconciles and, with metrics/kube, its
// queue. It asks for more:
//
//	runs := c.Runs()                          // Jobs and workflows: runs.End, runs.Active, runs.JobMissing
//	events.Options{OnResult: c.Events()}      // Kubernetes events
//	status.Writer{OnCommit: c.StatusWrites()} // commits of a status
//
// The package imports only OpenTelemetry's API and logr. metrics/prom is the
// scrape endpoint, metrics/kube adapts client-go, metrics/tracelog adds trace
// IDs to logs, and metrics/catalog is the table below as data. The package has
// no globals. A collection, and the stop function of ObserveQueue, call your
// functions in separate goroutines, so that a function that hangs costs only
// its own series. All methods are safe for concurrent use, and do nothing on a
// nil *Metrics, *Controller or *Runs.
//
// # Instruments
//
// Names follow OpenTelemetry. Prometheus writes "_" for ".", adds _seconds for
// the unit s and _total to counters, leaves out units in braces, and calls an
// updowncounter a gauge.
//
//	controller.reconcile.duration            histogram      s            controller, result
//	controller.reconciles                    counter        {reconcile}  controller, result
//	controller.reconcile.active              updowncounter  {reconcile}  controller
//	controller.worker.limit                  updowncounter  {worker}     controller
//	controller.queue.depth                   updowncounter  {item}       controller
//	controller.queue.delayed                 updowncounter  {item}       controller
//	controller.queue.adds                    counter        {item}       controller
//	controller.queue.retries                 counter        {item}       controller
//	controller.queue.wait.duration           histogram      s            controller
//	controller.queue.oldest                  gauge          s            controller
//	controller.queue.unfinished_work         gauge          s            controller
//	controller.queue.longest_running         gauge          s            controller
//	controller.queue.failing                 updowncounter  {item}       controller
//	controller.queue.longest_failing         gauge          s            controller
//	controller.run.duration                  histogram      s            controller, result
//	controller.runs                          counter        {run}        controller, result
//	controller.run.active                    updowncounter  {run}        controller
//	controller.missing_jobs                  counter        {job}        controller
//	controller.events                        counter        {event}      controller, result
//	controller.status_writes                 counter        {write}      controller, result
//	controller.status_write.duration         histogram      s            controller
//	controller.job.ttl                       gauge          s            controller
//	controller.run.retention                 gauge          s            controller
//	controller.log.retention                 gauge          s            controller
//	controller.objects                       gauge          {object}     kind, condition, status
//	controller.leader                        gauge                       lease
//	controller.cache.age                     gauge          s            resource
//	controller.client.requests               counter        {request}    code
//	controller.client.request.duration       histogram      s            verb, group, resource, code
//	controller.client.limiter.wait.duration  histogram      s
//	controller.label_overflows               counter        {value}      label
//
// No label holds the name of a reconciled object, and the number of values of
// each label is bounded. Values beyond the bound become "other", and a lease or
// a cache is left out. Both are counted in controller.label_overflows.
// [Metrics.MaxSeries] gives the bound.
//
// # RBAC
//
// None: the package never talks to the API server.
//
// # When not to use it
//
// For a series per object use kube-state-metrics. Prometheus' own client
// records a reconcile faster, and is enough where nothing reads traces or OTLP.
package metrics
