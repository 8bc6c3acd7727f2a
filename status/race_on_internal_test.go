// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package status

// hasRaceDetector is true: a search takes ten times as long, and has no second
// goroutine.
const hasRaceDetector = true
