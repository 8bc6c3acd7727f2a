// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerkit is the map of a library of building blocks for
// Kubernetes controllers. It exports nothing: import the packages below it,
// each on its own, into a controller that is already there.
//
//   - [github.com/proompteng/controllerkit/status] writes status under one
//     contract for observedGeneration, updatedAt, startedAt and finishedAt,
//     under conflicts, restarts and recreated objects.
//   - [github.com/proompteng/controllerkit/events] records Kubernetes Events
//     that reach kubectl describe and never become a storm;
//     [github.com/proompteng/controllerkit/events/redact] keeps credentials out
//     of them, and [github.com/proompteng/controllerkit/events/eventstest]
//     stands in for the recorder in unit tests.
//   - [github.com/proompteng/controllerkit/jobgc] keeps the result of a Job
//     from being lost to its TTL, a stale cache or a restart, and proves it
//     when a Job is lost all the same;
//     [github.com/proompteng/controllerkit/jobgc/hold] releases held Jobs that
//     nobody will release, [github.com/proompteng/controllerkit/jobgc/expire]
//     deletes runs that are past their retention.
//   - [github.com/proompteng/controllerkit/metrics] holds the OpenTelemetry
//     instruments of a controller;
//     [github.com/proompteng/controllerkit/metrics/prom] serves them to
//     Prometheus, [github.com/proompteng/controllerkit/metrics/kube] measures
//     client-go's queues, requests and elections,
//     [github.com/proompteng/controllerkit/metrics/manifest] renders the
//     dashboard and the alerts, and
//     [github.com/proompteng/controllerkit/metrics/tracelog] puts trace IDs
//     into logs.
//   - [github.com/proompteng/controllerkit/rollout] renders a Deployment as it
//     is or as a canary of Argo Rollouts, and refuses one that could not do
//     what it says; [github.com/proompteng/controllerkit/rollout/plan] switches
//     a live workload without losing a pod,
//     [github.com/proompteng/controllerkit/rollout/live] asks a cluster, and
//     [github.com/proompteng/controllerkit/rollout/settings] reads chart values
//     and the environment.
//
// The packages do not import one another, keep no global state and start no
// goroutine outside a call that blocks. The controller in examples/agentrun
// composes them all; examples/hello shows each in a few lines without a
// cluster.
package controllerkit
