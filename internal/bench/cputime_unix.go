// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of the process so far, in user and system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
