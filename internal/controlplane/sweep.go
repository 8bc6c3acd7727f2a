// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dirPrefix begins the names of the directories of control planes.
const dirPrefix = "controlplane-"

// ownerFile is locked while the owner of the directory lives. A pid would not
// be enough, because pids are reused. keptFile exists if the owner stopped and
// kept the directory on purpose.
const (
	ownerFile = "owner.lock"
	keptFile  = "kept"
)

// How long a directory without an owner stays after its last change. Its logs
// may explain why a process or a test failed.
const (
	keepKilled = time.Hour
	keepKept   = 24 * time.Hour
)

// newDir creates a directory in parent. This process owns it until the returned
// file is closed or the process is gone. Child processes do not inherit the
// file.
func newDir(parent string) (dir string, owner *os.File, err error) {
	if dir, err = os.MkdirTemp(parent, dirPrefix); err != nil {
		return "", nil, fmt.Errorf("controlplane: %w", err)
	}
	if owner, err = os.OpenFile(filepath.Join(dir, ownerFile), os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return "", nil, fmt.Errorf("controlplane: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	err = unix.Flock(int(owner.Fd()), unix.LOCK_EX) // waits for a sweep, which ignores an empty file
	if err == nil {
		_, err = fmt.Fprintln(owner, os.Getpid()) // for a person
	}
	if err != nil {
		return "", nil, fmt.Errorf("controlplane: %w", errors.Join(err, owner.Close(), os.RemoveAll(dir)))
	}
	return dir, owner, nil
}

// sweep removes directories in parent whose process has been gone for long
// enough. It keeps directories of other users, and directories that may still
// have an owner.
func sweep(parent string, now time.Time) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if ok, _ := filepath.Match(dirPrefix+"*", e.Name()); !ok || !e.IsDir() {
			continue
		}
		if err := sweepOne(filepath.Join(parent, e.Name()), now); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may sweep too
			errs = append(errs, fmt.Errorf("controlplane: %w", err))
		}
	}
	return errors.Join(errs...)
}

func sweepOne(dir string, now time.Time) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(of.Uid) != os.Getuid() {
		return nil
	}
	stays := keepKilled
	if _, err := os.Lstat(filepath.Join(dir, keptFile)); err == nil {
		stays = keepKept
	}
	if now.Sub(info.ModTime()) < stays {
		return nil
	}
	owner, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err // an older version, which has no lock
	}
	defer func() { _ = owner.Close() }()
	if err := unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	} else if err != nil {
		return os.NewSyscallError("flock", err)
	}
	if info, err := owner.Stat(); err != nil || info.Size() == 0 {
		return err // its owner is about to lock it
	}
	return os.RemoveAll(dir)
}
