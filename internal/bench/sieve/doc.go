// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sieve tests whole controllers with the three patterns of Sieve (Sun
// et al., OSDI 2022), in virtual time and against an API server in memory.
//
// A run without faults gives a list of writes. From this list the tests
// generate plans. A plan kills the controller before or after a write, shows
// the restarted controller caches from before a write, or hides the watch event
// of a write. A run with a plan must end as the run without faults.
//
// An hour over quota is not one of the patterns. In virtual time it takes seconds.
package sieve
