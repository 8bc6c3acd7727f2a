// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart proves examples/chart: what helm renders of it, and that what
// is rendered installs and works on a real API server, with the controller
// running under the account and the rights that the chart gives it.
package chart
