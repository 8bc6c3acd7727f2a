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

// ownerFile is locked for as long as the process lives that owns the directory: no pid says that, for pids are used again. keptFile says
// that the owner stopped and left the directory on purpose.
const (
	ownerFile = "owner.lock"
	keptFile  = "kept"
)

// How long after the last change in it a directory stays whose owner is gone: the logs may explain a death, or a test that failed.
const (
	keepKilled = time.Hour
	keepKept   = 24 * time.Hour
)

// newDir makes a directory in parent that is ours until the file it returns is closed, or this process is gone. The file is not inherited
// by what is started.
func newDir(parent string) (dir string, owner *os.File, err error) {
	if dir, err = os.MkdirTemp(parent, dirPrefix); err != nil {
		return "", nil, fmt.Errorf("controlplane: %w", err)
	}
	if owner, err = os.OpenFile(filepath.Join(dir, ownerFile), os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return "", nil, fmt.Errorf("controlplane: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	err = unix.Flock(int(owner.Fd()), unix.LOCK_EX) // waits for one who looks, who leaves an empty file alone
	if err == nil {
		_, err = fmt.Fprintln(owner, os.Getpid()) // for a person
	}
	if err != nil {
		return "", nil, fmt.Errorf("controlplane: %w", errors.Join(err, owner.Close(), os.RemoveAll(dir)))
	}
	return dir, owner, nil
}

// sweep removes the directories in parent that processes left which are gone, if they have been left for long enough. One that is not
// this user's, or of which it is not sure that nobody owns it, stays.
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
		if err := sweepOne(filepath.Join(parent, e.Name()), now); err != nil && !errors.Is(err, fs.ErrNotExist) { // another may sweep, too
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
		return err // of an older version, which locks nothing
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
