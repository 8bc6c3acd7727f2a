// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "testing"

// countListeners checks nothing: only Linux lists the sockets of a process.
func countListeners(*testing.T) func(more int) { return func(int) {} }
