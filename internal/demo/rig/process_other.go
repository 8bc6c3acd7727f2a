// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package rig

import "syscall"

// dependent is for a process in a separate group. Here it outlives a parent
// that is killed.
func dependent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
