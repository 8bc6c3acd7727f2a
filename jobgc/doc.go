// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgc keeps a controller from losing the result of a Job to TTL, garbage collection, a stale cache or a restart.
package jobgc
