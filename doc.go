// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerkit has packages for Kubernetes controllers. This package
// exports nothing: import the ones below. Each works without the others, in a
// controller that exists already.
//
//   - [github.com/proompteng/controllerkit/status] updates the status of
//     objects safely under conflicts, restarts and recreated objects.
//     [github.com/proompteng/controllerkit/status/statustest] tests a
//     controller against the contract, and
//     [github.com/proompteng/controllerkit/status/rules] makes the API server
//     enforce it. [github.com/proompteng/controllerkit/status/applyconfiguration]
//     serves code generators.
//   - [github.com/proompteng/controllerkit/events] records Kubernetes Events
//     for failures, with a strict cap on writes.
//     [github.com/proompteng/controllerkit/events/redact] masks credentials.
//     [github.com/proompteng/controllerkit/events/eventstest] replaces the
//     recorder in unit tests.
//   - [github.com/proompteng/controllerkit/jobgc] runs one Job for an object.
//     It finds the result despite a short TTL, a stale cache or a restart, and
//     reports a lost Job only with proof.
//     [github.com/proompteng/controllerkit/jobgc/expire] deletes finished runs
//     after their retention.
//     [github.com/proompteng/controllerkit/jobgc/jobgctest] completes
//     client-go's fake clientset.
//   - [github.com/proompteng/controllerkit/metrics] has the OpenTelemetry
//     instruments of a controller.
//     [github.com/proompteng/controllerkit/metrics/prom] serves them to
//     Prometheus. [github.com/proompteng/controllerkit/metrics/kube] measures
//     client-go's queues, requests and elections.
//     [github.com/proompteng/controllerkit/metrics/mixin] has the alerts and
//     the dashboard. [github.com/proompteng/controllerkit/metrics/tracelog]
//     puts trace IDs into logs.
//   - [github.com/proompteng/controllerkit/rollout] renders a Deployment, or in
//     its place a canary of Argo Rollouts that it has checked, and reads,
//     promotes and aborts a live one.
//     [github.com/proompteng/controllerkit/rollout/plan] switches a live
//     workload without losing capacity.
//
// The packages do not import one another and have no global state. Each
// goroutine ends before the call that started it returns, unless a function of
// the caller hangs. Run examples/hello to see each package in a few lines,
// without a cluster. The controller in examples/agentrun uses them all.
package controllerkit
