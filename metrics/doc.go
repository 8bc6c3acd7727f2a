// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics records what a Kubernetes controller does, on OpenTelemetry's API alone.
package metrics
