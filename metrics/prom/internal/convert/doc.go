// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert converts the metrics of OpenTelemetry's SDK to Prometheus
// metrics, with the output of OpenTelemetry's exporter. A fuzz test of package
// prom compares the two.
//
// The exporter itself does not keep what package prom promises:
//
//   - At v0.60 it gives errors, such as a label value that is not UTF-8, to the
//     global error handler of OpenTelemetry, and an instrument of another type
//     to its global logger. At v0.69 it serves most of them as invalid metrics.
//     Options.OnError would get none at one version, and some at the next.
//   - It serves a histogram with an attribute le. The label is then there
//     twice, and Prometheus refuses the whole page.
//   - It collects without a context, so that no deadline reaches the callbacks.
//
// A producer around a custom reader brings the deadline and the errors of
// callbacks. Names, types, labels and values would have to be checked before
// the exporter sees them. That is most of this package, and more than it saves.
package convert
