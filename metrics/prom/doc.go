// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prom serves OpenTelemetry metrics to Prometheus.
//
// An [Endpoint] is a meter provider and the handler that serves it. It wraps
// OpenTelemetry's Prometheus exporter, so that errors cost their own metrics
// and not the scrape or the process.
//
//	ep, err := prom.New(prom.Options{})
//	m, err := metrics.New(ep, metrics.Options{})
//	mux.Handle("GET /metrics", ep) // or ep.Serve(ctx, listener)
//
// The names are fixed: "." becomes "_", units and _total are added. The series
// have no labels of the instrumentation scope, so the names of instruments must
// be unique. The endpoint also serves the metrics of the process and of Go's
// runtime, and with Options.Gatherers the metrics of other libraries. An
// Endpoint is also a [prometheus.Collector], so you can register it with an
// existing registry. The package reads OTEL_RESOURCE_ATTRIBUTES and
// OTEL_SERVICE_NAME and changes no global.
//
// # Failures
//
// Options.OnError receives the errors of each scrape, joined. The other metrics
// are served:
//
//   - A gatherer, or a callback of RegisterCallback, that panics or returns an
//     error costs its own metrics. What it returned or observed before is
//     served. Options.Readers see no error of such a callback, because a
//     periodic reader sends nothing after one.
//   - A callback that an instrument was created with, by WithInt64Callback for
//     example, is not guarded by itself. Its panic costs the provider's metrics
//     of that scrape. Its error goes to OpenTelemetry's error handler.
//   - A series that Prometheus refuses is left out: a value that is not UTF-8,
//     a second series with equal labels, a histogram with the attribute le.
//     Which of two meters has the second one can change with each scrape.
//
// A callback or gatherer that hangs costs the scrape: the answer is 503 after
// Options.Timeout, until it returns. While a callback hangs, the SDK also holds
// up the creation of instruments, and Shutdown with Options.Readers. Package
// metrics creates its instruments in New, and does not wait longer than two
// seconds for your functions.
//
// A prometheus.Registry calls its collectors in separate goroutines. A
// collector of Options.Gatherers that panics ends the process with client_golang
// v1.23, with any handler. Newer versions return an error.
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
// If metrics leave only by OTLP, give metrics.New the SDK's own provider. If
// you need views or exponential histograms, give it the SDK's provider with
// OpenTelemetry's exporter.
package prom
