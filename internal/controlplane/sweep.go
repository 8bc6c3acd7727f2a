// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dirPrefix begins the names of the directories of control planes.
const dirPrefix = "controlplane-"

// ownerFile is locked while the owner of the directory lives. A pid would not
// be enough, because pids are reused.
const ownerFile = "owner.lock"

// keepFor is how long a directory without an owner stays after its last change.
// Its logs may explain why a process or a test failed.
const keepFor = 24 * time.Hour

// maxSocketPath is the longest path of a socket that every system allows. Linux
// allows four bytes more.
const maxSocketPath = 103

// newDir creates a directory in parent. This process owns it until the returned
// file is closed or the process is gone. Child processes do not inherit the
// file.
func newDir(parent string) (dir string, owner *os.File, err error) {
	if path := filepath.Join(parent, dirPrefix+"4294967295", etcdSocket); len(path) > maxSocketPath {
		return "", nil, fmt.Errorf(
			"controlplane: %s is too long for a socket; set TMPDIR to a shorter directory", path)
	}
	if dir, err = os.MkdirTemp(parent, dirPrefix); err != nil {
		return "", nil, fmt.Errorf("controlplane: %w", err)
	}
	owner, err = os.Create(filepath.Join(dir, ownerFile))
	if err == nil {
		err = unix.Flock(int(owner.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		_, _ = owner.Close(), os.RemoveAll(dir) // Close accepts nil
		return "", nil, fmt.Errorf("controlplane: lock %s: %w", dir, err)
	}
	return dir, owner, nil
}

// sweep removes directories in parent whose process has been gone for long
// enough. It keeps directories of other users, and directories that may still
// have an owner. Other processes may sweep too, so it ignores what it cannot
// remove.
func sweep(parent string, now time.Time) {
	dirs, _ := filepath.Glob(filepath.Join(parent, dirPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || now.Sub(info.ModTime()) < keepFor {
			continue
		}
		if of, ok := info.Sys().(*syscall.Stat_t); !ok || int(of.Uid) != os.Getuid() {
			continue
		}
		owner, err := os.Open(filepath.Join(dir, ownerFile))
		if err != nil {
			continue
		}
		if unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = owner.Close()
	}
}
