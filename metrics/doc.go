// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics records reconciles, objects that fail, queues, runs, Events
// and status writes of a controller through OpenTelemetry.
//
// Measure a reconcile where it returns, because only its result says whether
// the object fails. A queue sees a poll and a failure as the same retry, and
// forgets a terminal error:
//
//	endpoint, err := prom.New(prom.Options{}) // or any meter provider
//	m, err := metrics.New(endpoint, metrics.Options{IsTerminal: events.IsTerminal})
//	r := &Reconciler{metrics: m.Controller("agentrun")}
//
//	func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
//		ctx, done := r.metrics.Begin(ctx, req)
//		defer done(&err, &res.RequeueAfter)
//
// The counters of its results exist at zero as soon as the controller does, so
// that rate() sees the first error. The rest exists from the call that asks for
// it:
//
//	c.SetWorkers(4)
//	provider, err := kube.QueueProvider(c)    // client-go's work queue
//	runs := c.Runs()                          // Jobs and workflows: runs.End, runs.Active, runs.JobMissing
//	events.Options{OnResult: c.Events()}      // Kubernetes Events
//	status.Writer{OnCommit: c.StatusWrites()} // commits of a status
//	config.Wrap(kube.Transport(m))            // requests to the API server
//	kube.NewCache(m, "pods", informer)        // a watch that got nothing
//
// Several clusters in one process need a scope each: m.Scope("east").
//
// The package imports only OpenTelemetry's API and logr. metrics/prom is the
// scrape endpoint, metrics/kube adapts client-go, metrics/tracelog adds trace
// IDs to logs, and metrics/mixin has the alerts and the dashboard. The package
// has no globals. A collection calls your state functions in separate
// goroutines. A function that hangs or panics costs only its own series. All
// methods are safe for concurrent use, and do nothing on a nil *Metrics,
// *Controller, *Runs or *Lease.
//
// # Instruments
//
// Names follow OpenTelemetry. Prometheus writes "_" for ".", adds _seconds for
// the unit s and _total to counters, leaves out units in braces, and calls an
// updowncounter a gauge. Series of a scope also have the label scope.
//
//	controller.cache.age               gauge          s            resource
//	controller.client.request.duration histogram      s            code, group, resource, verb
//	controller.client.requests         counter        {request}    code, group, resource, verb
//	controller.events                  counter        {event}      controller, result
//	controller.failing                 gauge          {object}     controller, result
//	controller.failing.longest         gauge          s            controller, result
//	controller.leader                  gauge                       lease
//	controller.missing_jobs            counter        {job}        controller
//	controller.objects                 gauge          {object}     condition, kind, status
//	controller.queue.adds              counter        {item}       controller
//	controller.queue.depth             updowncounter  {item}       controller
//	controller.queue.longest_running   gauge          s            controller
//	controller.queue.retries           counter        {item}       controller
//	controller.queue.unfinished_work   gauge          s            controller
//	controller.queue.wait.duration     histogram      s            controller
//	controller.reconcile.active        updowncounter  {reconcile}  controller
//	controller.reconcile.duration      histogram      s            controller, result
//	controller.reconciles              counter        {reconcile}  controller, result
//	controller.retention               gauge          s            controller, of
//	controller.run.active              updowncounter  {run}        controller
//	controller.run.duration            histogram      s            controller, result
//	controller.runs                    counter        {run}        controller, result
//	controller.status_write.duration   histogram      s            controller
//	controller.status_writes           counter        {write}      controller, result
//	controller.worker.limit            updowncounter  {worker}     controller
//
// No label has the name of a reconciled object. The SDK bounds the number of
// series of an instrument: beyond its limit, 2000 by default, the series with
// otel_metric_overflow="true" has the rest.
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
