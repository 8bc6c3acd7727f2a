// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Again runs this program again, with the same arguments, in a new network
// namespace, and returns its exit code. The new one dies with this one. Without
// the right to make a namespace it needs one of users too, in which it seems to
// be root. That a system allows neither is an error that says what to change.
func Again(ctx context.Context) (code int, err error) {
	// The signal on a parent's death is one on the death of the thread that
	// made the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = run(ctx, syscall.CLONE_NEWUSER|syscall.CLONE_NEWNET)
	exit, ran := errors.AsType[*exec.ExitError](err)
	if err != nil && !ran { // root may, where users may not
		err = run(ctx, syscall.CLONE_NEWNET)
		exit, ran = errors.AsType[*exec.ExitError](err)
	}
	if ran {
		return exit.ExitCode(), nil
	}
	if err != nil {
		const switches = "user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns"
		return 1, fmt.Errorf("netns: create a network namespace: %w; "+
			"allow user namespaces (sysctl %s), or run as root with CAP_SYS_ADMIN", err, switches)
	}
	return 0, nil
}

func run(ctx context.Context, flags uintptr) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd.Run()
}

// Up enables the loopback of a new namespace. It does nothing if the loopback
// is already enabled.
func Up() error {
	if lo, err := net.InterfaceByName("lo"); err == nil && lo.Flags&net.FlagUp != 0 {
		return nil
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("netns: %w", os.NewSyscallError("socket", err))
	}
	defer func() { _ = unix.Close(socket) }()
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("netns: %w", err)
	}
	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		return fmt.Errorf("netns: the loopback: %w", os.NewSyscallError("ioctl", err))
	}
	return nil
}
