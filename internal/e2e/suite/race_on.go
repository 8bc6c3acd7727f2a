// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package suite

// race: the tests run with the race detector.
const race = true
