// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package events_test

// unhurried stretches the period of the largest loops, which the race detector makes ten times slower.
const unhurried = 30
