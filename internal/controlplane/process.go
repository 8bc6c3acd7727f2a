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

// grace is how long a process that was asked to end may take.
const grace = 3 * time.Second

// Process is one program of the control plane. It keeps its flags, ports and data over any number of ends and starts.
// Its methods may be called concurrently.
type Process struct {
	path  string
	args  []string
	env   []string // beyond what every process has
	dir   string
	guard *guard
	ready probe

	mu      sync.Mutex
	current *run
	deaths  []error // runs that ended by themselves
}

// run is one life of a process.
type run struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed when the process is gone
	err    error         // how it ended; read after done
	wanted bool          // somebody here ended it; guarded by Process.mu
}

// Name returns the program's name, such as kube-apiserver.
func (p *Process) Name() string { return filepath.Base(p.path) }

// Log returns the path of the file that holds all that the process has written, over all its lives.
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

// Start starts the process and returns once it is ready, as [Process.Ready] does. It is an error if it runs already.
// A process that does not become ready is left running, for its log and for Ready to be asked again.
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
	cmd := exec.Command(p.path, p.args...) //nolint:noctx // it outlives the context of the call that starts it
	cmd.Dir = p.dir
	// etcd takes settings from ETCD_*, client-go from KUBE*: no variable of the caller gets through.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir}, p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	// A group of its own: Ctrl-C at the terminal reaches us, and we end the processes in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.guard.start(cmd); err != nil {
		return fmt.Errorf("controlplane: start %s: %w", p.Name(), err)
	}
	r := &run{cmd: cmd, done: make(chan struct{})}
	p.current = r
	go p.reap(r)
	return nil
}

// reap waits for the end of a run. The goroutine ends with the process.
func (p *Process) reap(r *run) {
	err := r.cmd.Wait()
	p.guard.ended(r.cmd)
	p.mu.Lock()
	if !r.wanted {
		p.deaths = append(p.deaths, fmt.Errorf("controlplane: %s ended by itself: %s; %s",
			p.Name(), r.cmd.ProcessState, tail(p.Log())))
	}
	p.mu.Unlock()
	r.err = err
	close(r.done)
}

// Ready returns nil as soon as the process says that it is ready to serve. It waits for two minutes where ctx sets no
// deadline, and gives up at once when the process has ended. Its error names the log and shows its last lines.
// Clients, controllers and the stand-in for the kubelet notice a server's return by themselves, some seconds later:
// client-go waits longer with each attempt.
func (p *Process) Ready(ctx context.Context) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
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
			return fmt.Errorf("controlplane: %s ended before it was ready: %s; %s", p.Name(), r.cmd.ProcessState, tail(p.Log()))
		case <-ctx.Done():
			return fmt.Errorf("controlplane: %s is not ready: %w (%w); %s", p.Name(), err, context.Cause(ctx), tail(p.Log()))
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// Stop asks the process to end (SIGTERM), kills it if it has not after three seconds, and returns once it is gone. It
// thaws a frozen one first. It does nothing to a process that does not run.
func (p *Process) Stop() error {
	if err := p.Thaw(); err != nil {
		return err
	}
	done, err := p.end(syscall.SIGTERM)
	if err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-time.After(grace):
		return p.Kill()
	}
}

// Kill ends the process at once (SIGKILL), frozen or not, and returns once it is gone. It does nothing to a process
// that does not run.
func (p *Process) Kill() error {
	done, err := p.end(syscall.SIGKILL)
	if err != nil {
		return err
	}
	<-done
	return nil
}

// end sends a signal that ends the current run, and returns what is closed when nothing runs.
func (p *Process) end(signal syscall.Signal) (<-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current.alive() {
		done := make(chan struct{})
		close(done)
		return done, nil
	}
	p.current.wanted = true
	return p.current.done, p.current.signal(signal)
}

// Freeze stops the process where it is (SIGSTOP): connections stay open, nothing answers, until [Process.Thaw]. It does
// nothing to a process that does not run.
func (p *Process) Freeze() error {
	if err := p.send(syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitStopped(p.Pid(), patience)
}

// Thaw lets a frozen process go on (SIGCONT). It does nothing to one that is not frozen or does not run.
func (p *Process) Thaw() error { return p.send(syscall.SIGCONT) }

func (p *Process) send(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current.alive() {
		return nil
	}
	return p.current.signal(signal)
}

// died reports the runs that ended by themselves.
func (p *Process) died() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.deaths...)
}

// alive reports whether the run has not been seen to end. A nil run is not alive.
func (r *run) alive() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// signal sends a signal to the process. One that is gone has nothing left to end, freeze or thaw.
func (r *run) signal(signal syscall.Signal) error {
	err := r.cmd.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
