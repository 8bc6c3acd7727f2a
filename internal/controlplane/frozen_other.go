// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package controlplane

// awaitStopped does not wait: only Linux reports that every thread has stopped.
func awaitStopped(int) error { return nil }
