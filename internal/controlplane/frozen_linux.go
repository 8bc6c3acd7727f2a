// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// awaitStopped waits until every thread of a child has stopped after SIGSTOP;
// until then the other threads continue to answer. It leaves the child's end to
// the goroutine that waits for that.
func awaitStopped(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("controlplane: wait until process %d stops: %w", pid, err)
		}
	}
}
