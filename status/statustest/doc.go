// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statustest tests a controller against the contract of package status.
package statustest
