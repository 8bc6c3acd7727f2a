// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prom serves OpenTelemetry metrics to Prometheus.
//
// An [Endpoint] is a meter provider and the handler that serves it. One failing
// callback or gatherer costs its own metrics and not the scrape.
//
//	ep, err := prom.New(prom.Options{})
//	m, err := metrics.New(ep, metrics.Options{})
//	mux.Handle("GET /metrics", ep) // or ep.Serve(ctx, listener)
//
// The names are fixed: "." becomes "_", units and _total are added, so that an
// upgrade renames no series. The endpoint also serves the metrics of the
// process and of Go's runtime, and with Options.Gatherers the metrics of other
// libraries. An Endpoint is also a [prometheus.Collector], so you can register
// it with an existing registry. The package reads OTEL_RESOURCE_ATTRIBUTES and
// OTEL_SERVICE_NAME and touches no other global.
//
// The endpoint exposes the series of OpenTelemetry's exporter without scope
// labels, so the names of instruments must be unique. Up to three scrapes run
// concurrently. It does not use the exporter, which
// reports errors to a global handler, serves a histogram with an attribute le
// although Prometheus then refuses the page, and passes no deadline to
// callbacks. It keeps label pairs from scrape to
// scrape, so a scrape allocates less than half of what a scrape of
// controller-runtime's endpoint does.
//
// # Failures
//
// A gatherer or a callback that panics or does not return in time costs its own
// metrics. If it returns an error, its other metrics are served. A gatherer has
// Options.Timeout. Callbacks run one after the other: each has four fifths of
// the time that the scrape has left, and later scrapes do not wait for a
// callback that still runs. Options.OnError receives the errors of each scrape,
// joined. An error names the callback's function, its meter and, if the
// callback belongs to one instrument, the instrument. At most one goroutine
// waits for each callback or gatherer.
//
// A prometheus.Registry calls its collectors in separate goroutines. A
// collector that panics costs its own metrics with client_golang v1.24 or
// newer. With an older version it ends the process, with any handler.
//
// A callback or gatherer costs Options.Readers its own metrics too: a periodic
// reader of the SDK exports nothing after an error of a callback, so it gets
// none. The next scrape reports the error.
//
// # TLS and authentication
//
// Serve takes a listener of [crypto/tls.NewListener]. An Endpoint is a
// [net/http.Handler]: a comparison with a bearer token, controller-runtime's
// filters or a proxy can guard it, and [Endpoint.ServeHTTP] has an example.
// Without either, every client that reaches the port reads names of
// controllers, resources and leases. Listen on loopback or use a NetworkPolicy.
//
// # RBAC
//
// None. A filter that asks the API server needs create on tokenreviews and
// subjectaccessreviews.
//
// # When not to use it
//
// If metrics leave only by OTLP, give metrics.New the SDK's own provider.
package prom
