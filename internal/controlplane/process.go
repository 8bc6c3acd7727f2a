// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// grace is how long a process may take to end after SIGTERM.
const grace = 3 * time.Second

// Process is one program of the control plane. It keeps its flags, ports and
// data over restarts. Its methods may be called concurrently.
type Process struct {
	path  string
	args  []string
	env   []string // in addition to the variables of every process
	dir   string
	group int // of processes, which the guard kills
	ready probe

	mu      sync.Mutex
	current *run
	deaths  []error // runs that ended unexpectedly
}

// run is one run of a process.
type run struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed when the process is gone
	wanted bool          // this package ended it; guarded by Process.mu
}

// Name returns the program's name, such as kube-apiserver.
func (p *Process) Name() string { return filepath.Base(p.path) }

// Log returns the path of the file with the output of the process, over all its
// runs.
func (p *Process) Log() string { return filepath.Join(p.dir, p.Name()+".log") }

// Pid returns the process id, or 0 while the process does not run.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current.alive() {
		return 0
	}
	return p.current.cmd.Process.Pid
}

// Start starts the process and returns when it is ready, like [Process.Ready].
// It returns an error if the process already runs. A process that does not
// become ready continues to run, so that you can read its log and call Ready
// again.
func (p *Process) Start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.Ready(ctx)
}

// launch starts the process without waiting for it.
func (p *Process) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current.alive() {
		return fmt.Errorf("controlplane: %s runs already", p.Name())
	}
	log, err := os.OpenFile(p.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("controlplane: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(p.path, p.args...) //nolint:noctx // it runs longer than the context of this call
	cmd.Dir = p.dir
	// etcd reads ETCD_*, client-go KUBE*: the process gets no variable of the
	// caller.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir}, p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: p.group}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("controlplane: start %s: %w", p.Name(), err)
	}
	r := &run{cmd: cmd, done: make(chan struct{})}
	p.current = r
	go p.reap(r)
	return nil
}

// reap waits for the end of a run. The goroutine ends with the process.
func (p *Process) reap(r *run) {
	_ = r.cmd.Wait() // ProcessState says how it ended
	p.mu.Lock()
	if !r.wanted {
		p.deaths = append(p.deaths, fmt.Errorf("controlplane: %s ended by itself: %s; %s",
			p.Name(), r.cmd.ProcessState, tail(p.Log())))
	}
	p.mu.Unlock()
	close(r.done)
}

// Ready returns nil as soon as the process is ready to serve. It waits for two
// minutes if ctx has no deadline, and returns immediately if the process has
// ended. Its error names the log and has its last lines. Clients, controllers
// and the fake kubelet notice a server's return some seconds later, because
// client-go waits longer with each attempt.
func (p *Process) Ready(ctx context.Context) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readyTimeout)
		defer cancel()
	}
	p.mu.Lock()
	r := p.current
	p.mu.Unlock()
	if !r.alive() {
		return fmt.Errorf("controlplane: %s does not run; %s", p.Name(), tail(p.Log()))
	}
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-r.done:
			return fmt.Errorf("controlplane: %s ended before it was ready: %s; %s",
				p.Name(), r.cmd.ProcessState, tail(p.Log()))
		case <-ctx.Done():
			return fmt.Errorf("controlplane: %s is not ready: %w (%w); %s",
				p.Name(), err, context.Cause(ctx), tail(p.Log()))
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// Stop sends SIGTERM, kills the process after three seconds, and returns when
// it is gone. It thaws a frozen process. It does nothing if the process does
// not run.
func (p *Process) Stop() error {
	done, err := p.send(syscall.SIGTERM)
	if err := errors.Join(err, p.Thaw()); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-time.After(grace):
		return p.Kill()
	}
}

// Kill sends SIGKILL, which also ends a frozen process, and returns when the
// process is gone. It does nothing if the process does not run.
func (p *Process) Kill() error {
	done, err := p.send(syscall.SIGKILL)
	if err != nil {
		return err
	}
	<-done
	return nil
}

// Freeze pauses the process (SIGSTOP) until [Process.Thaw]. Its connections
// stay open without an answer. It does nothing if the process does not run.
func (p *Process) Freeze() error {
	pid := p.Pid()
	if pid == 0 {
		return nil
	}
	if _, err := p.send(syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitStopped(pid)
}

// Thaw continues a frozen process (SIGCONT). It does nothing if the process is
// not frozen or does not run.
func (p *Process) Thaw() error {
	_, err := p.send(syscall.SIGCONT)
	return err
}

// send sends a signal to the current run, if there is one. It returns a channel
// that is closed when the process is gone.
func (p *Process) send(signal syscall.Signal) (<-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current.alive() {
		return p.current.done, nil
	}
	if signal == syscall.SIGTERM || signal == syscall.SIGKILL {
		p.current.wanted = true
	}
	err := p.current.cmd.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return p.current.done, err
}

// died reports the runs that ended unexpectedly.
func (p *Process) died() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.deaths...)
}

// alive reports whether the run has not ended yet.
func (r *run) alive() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}
