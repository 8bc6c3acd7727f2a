// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// stopping is how long a process may take to stop after SIGSTOP. A thread that
// waits for a disk stops only after that.
const stopping = 10 * grace

// awaitStopped waits until every thread of a child has stopped after SIGSTOP;
// until then the other threads continue to answer. It leaves the child's end to
// the goroutine that waits for that, and returns nil if the child is gone. A
// child that was thawed in the meantime never stops, so the wait has a limit.
func awaitStopped(pid int) error {
	for end := time.Now().Add(stopping); time.Now().Before(end); <-time.After(time.Millisecond) {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.ECHILD), err == nil && info.Signo != 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("controlplane: wait until process %d stops: %w", pid, err)
		}
	}
	return fmt.Errorf("controlplane: process %d did not stop within %s", pid, stopping)
}
