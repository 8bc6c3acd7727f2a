// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package jobgc

// slowness is how many times fewer schedules are played: the race detector
// makes each of them slower.
const slowness = 10
