// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// awaitStopped waits until every thread of a process has stopped after SIGSTOP;
// until then the other threads continue to answer. Without /proc it returns
// immediately.
func awaitStopped(pid int, most time.Duration) error {
	for deadline := time.Now().Add(most); !stopped(pid); {
		if time.Now().After(deadline) {
			return fmt.Errorf("controlplane: process %d was sent SIGSTOP and still runs", pid)
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // the kernel reports this state only to the parent's wait, which would consume the exit
	}
	return nil
}

// stopped reads the state of each thread, the field behind the name in
// parentheses (proc_pid_stat(5)).
func stopped(pid int) bool {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil {
		return true
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(state) > 0 && state[0] != 'T' && state[0] != 't' && state[0] != 'Z' && state[0] != 'X' {
			return false
		}
	}
	return true
}
