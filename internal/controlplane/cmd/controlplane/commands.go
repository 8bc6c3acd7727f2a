// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// The questions that the process in the background answers, one byte each.
const (
	askEnv  = "e" // the lines for eval
	askDown = "d" // end; the answer is complete when the control plane is gone
)

// up starts the control plane in a separate process, away from this terminal
// and its signals, and returns when it is ready.
func up(ctx context.Context, socket string) error {
	if _, err := ask(ctx, socket, askEnv); err == nil {
		return errors.New("one is up already: make controlplane-env says how to use it, make controlplane-down ends it")
	} else if ctx.Err() != nil {
		return ctx.Err() // the socket may be that of one that starts
	}
	_ = os.Remove(socket) // of a process that was killed
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	inherited, err := listener.File()
	if err != nil {
		return err
	}
	log, err := os.Create(socket + ".log")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "--socket="+socket, "run") //nolint:noctx // it runs longer than this process
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{inherited}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })()
	_, _ = listener.Close(), inherited.Close() // so that only the new process can answer
	if _, err := ask(ctx, socket, askEnv); err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("it did not start (%w):\n%s", errors.Join(err, cmd.Wait()), text)
	}
	_, err = fmt.Fprintf(os.Stdout, "up, pid %d, until make controlplane-down; to use it here:\n\n  eval \"$(make -s controlplane-env)\"\n\n", cmd.Process.Pid)
	return err
}

// run runs the control plane until ctx ends or down asks for its end. It
// inherits the listener from up, and begins to answer when it is ready.
func run(ctx context.Context, socket string) error {
	inherited := os.NewFile(3, socket)
	listener, err := net.FileListener(inherited)
	if err != nil {
		return err
	}
	_ = inherited.Close() // the control plane's processes must not inherit it
	// It removes the socket before it stops listening: afterwards the path may
	// be another process's.
	leave := sync.OnceFunc(func() { _, _ = os.Remove(socket), listener.Close() })
	defer leave()
	cp, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, leave)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return cp.Stop()
		}
		if answer(conn, cp) {
			leave()
			err := cp.Stop()
			_ = conn.Close()
			return err
		}
		_ = conn.Close()
	}
}

// answer answers one question, and reports whether it asks for the end.
func answer(conn net.Conn, cp *controlplane.ControlPlane) (end bool) {
	question := make([]byte, 1)
	if _, err := io.ReadFull(conn, question); err != nil || string(question) == askDown {
		return err == nil
	}
	// The cache is kubectl's, which therefore leaves nothing in the home
	// directory.
	_, _ = fmt.Fprintf(conn, "export KUBECONFIG=%s\nexport KUBECACHEDIR=%s\nexport PATH=%s:\"$PATH\"\n",
		quote(cp.Kubeconfig()), quote(filepath.Join(cp.Dir(), "kubectl-cache")), quote(filepath.Dir(cp.Kubectl())))
	return false
}

// quote is for every POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// down ends the control plane. It is not an error if none runs.
func down(ctx context.Context, socket string) error {
	text := "down"
	if _, err := ask(ctx, socket, askDown); ctx.Err() != nil {
		return ctx.Err() // it may still be up
	} else if err != nil {
		text = "none is up"
	}
	_, err := fmt.Fprintln(os.Stdout, text)
	return err
}

// env prints lines for eval. Nothing is printed there if nothing is up, so that
// eval changes nothing.
func env(ctx context.Context, socket string) error {
	lines, err := ask(ctx, socket, askEnv)
	if err != nil {
		return fmt.Errorf("none is up (%w): make controlplane-up starts one", err)
	}
	_, err = fmt.Fprint(os.Stdout, lines)
	return err
}

// ask asks the process in the background, if it runs.
func ask(ctx context.Context, socket, question string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, question); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && question == askEnv && len(answer) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return string(answer), err
}
