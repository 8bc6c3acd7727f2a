// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// grace is how long a control plane may take to end before it is killed. Its
// processes end with it in both cases.
const grace = 30 * time.Second

// up starts the control plane in a separate process, and returns when it is
// ready.
func up(ctx context.Context, p place) error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if s, err := p.read(); err != nil {
		return err
	} else if s != nil {
		return fmt.Errorf("one is up already, pid %d at %s: make controlplane-env says how to use it, make controlplane-down ends it", s.Pid, s.Server)
	}
	if err := p.remove(); err != nil {
		return err
	}
	s, err := p.launch(ctx)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "up, pid %d at %s, until make controlplane-down; to use it here:\n\n  eval \"$(make -s controlplane-env)\"\n\n", s.Pid, s.Server)
	return nil
}

// launch runs this program again, away from this terminal and its signals, and
// waits for what it writes.
func (p place) launch(ctx context.Context) (*state, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(p.log())
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self, "--state="+string(p), "run") //nolint:noctx // it runs longer than this process
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			text, _ := os.ReadFile(p.log())
			return nil, fmt.Errorf("it did not start (%w):\n%s", err, text)
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM)
			return nil, errors.Join(context.Cause(ctx), <-ended)
		case <-time.After(50 * time.Millisecond):
			if s, err := p.read(); err != nil || s != nil {
				return s, err
			}
		}
	}
}

// run runs the control plane until ctx ends.
func run(ctx context.Context, p place) error {
	cp, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	if err := p.write(state{
		Pid: os.Getpid(), Started: startOf(os.Getpid()), Server: cp.Config().Host,
		Kubeconfig: cp.Kubeconfig(), Cache: filepath.Join(cp.Dir(), "kubectl-cache"), Programs: filepath.Dir(cp.Kubectl()),
	}); err != nil {
		_ = cp.Stop()
		return err
	}
	<-ctx.Done()
	return cp.Stop()
}

// down ends the control plane. It is not an error if none runs.
func down(_ context.Context, p place) error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	s, err := p.read()
	if err != nil {
		return err
	}
	if s == nil {
		_, _ = fmt.Fprintln(os.Stdout, "none is up")
		return p.remove()
	}
	if err := syscall.Kill(s.Pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("pid %d: %w", s.Pid, err)
	}
	for asked := time.Now(); startOf(s.Pid) == s.Started; time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // no event reports the end of a process that is not our child
		if time.Since(asked) > grace {
			_ = syscall.Kill(s.Pid, syscall.SIGKILL)
		}
	}
	_, _ = fmt.Fprintf(os.Stdout, "down, pid %d\n", s.Pid)
	return p.remove()
}

// env prints lines for eval. Nothing is printed there if nothing is up, so that
// eval changes nothing.
func env(_ context.Context, p place) error {
	s, err := p.read()
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("none is up: make controlplane-up starts one")
	}
	_, _ = fmt.Fprintf(os.Stdout, "export KUBECONFIG=%s\nexport KUBECACHEDIR=%s\nexport PATH=%s:\"$PATH\"\n", quote(s.Kubeconfig), quote(s.Cache), quote(s.Programs))
	return nil
}

// quote is for every POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
