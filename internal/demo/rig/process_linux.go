// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import "syscall"

// dependent is for a process in a separate group that dies with its parent.
func dependent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
