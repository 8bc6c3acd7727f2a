// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prom serves OpenTelemetry metrics to Prometheus, with defaults that keep a scrape whole.
//
// OpenTelemetry's exporter registers itself globally, labels each series with its scope, and leaves it to the handler
// whether one broken collector fails the whole scrape; by the usual default it does. An [Endpoint] is a meter provider
// with a registry and a handler of its own, where a failure costs the metrics that failed.
//
//	ep, err := prom.New(prom.Options{})
//	m, err := metrics.New(ep, metrics.Options{})
//	mux.Handle("GET /metrics", ep) // or ep.Serve(ctx, listener)
//
// Names are pinned: "." becomes "_", units and _total are added, so that an upgrade renames no series under a dashboard.
// Prometheus metrics of other libraries are served along with Options.Also. Nothing global is read or set but the variables
// OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME.
//
// # TLS and authentication
//
// There are no options for either, on purpose: TLS belongs to the listener and the question who may scrape to a handler, both
// are the standard library's, and whoever rotates certificates or reviews tokens has a way of their own. For TLS give Serve a
// listener of [crypto/tls.NewListener]. An Endpoint is an [net/http.Handler], which a comparison with a bearer token,
// controller-runtime's filters or a proxy in front can guard; [Endpoint.ServeHTTP] has an example. Without either, whoever reaches
// the port reads names of controllers, resources and leases, and no more: listen on loopback or let a NetworkPolicy decide.
//
// # RBAC
//
// None of its own; a filter that asks the API server needs create on tokenreviews and subjectaccessreviews.
//
// # When not to use it
//
// Where metrics leave by OTLP, give metrics.New the SDK's own provider. For a hundred thousand series and more use
// Prometheus' own client: OpenTelemetry's exporter takes most of a second for such a scrape, twice as long.
package prom
