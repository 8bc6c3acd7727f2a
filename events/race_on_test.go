// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package events_test

// scale divides the numbers of the largest tests, which the race detector makes
// ten times slower.
const scale = 10
