// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// child is a running controller.
type child struct {
	cmd   *exec.Cmd
	log   string
	ended chan ending
}

// ending is how a process ended.
type ending struct{ err error }

// kind is one of the controllers.
type kind struct {
	name    string
	program string
	args    func(namespace, kubeconfig string) []string
	elect   func(namespace string) []string // further arguments for several replicas
	ready   func(log string) bool           // whether it works, from its log
}

// leaseName is the name of each controller's lease, in the controller's
// namespace. It lasts 15 seconds, the default of all.
const leaseName = "agentrun"

var listening = regexp.MustCompile(`"address":"([^"]+)"`)

// ours is the example, which serves its readiness. The baseline logs a line.
func ours(program string) kind {
	return kind{"ours", program, func(namespace, kubeconfig string) []string {
		return []string{
			"--kubeconfig=" + kubeconfig, "--namespaces=" + namespace,
			"--metrics-bind-address=127.0.0.1:0", "--log-format=json",
		}
	}, func(namespace string) []string {
		return []string{
			"--leader-elect",
			"--leader-elect-lease-name=" + leaseName, "--leader-elect-lease-namespace=" + namespace,
		}
	}, func(log string) bool {
		m := listening.FindStringSubmatch(log)
		if m == nil {
			return false
		}
		probe := &http.Client{Timeout: 2 * time.Second}
		resp, err := probe.Get("http://" + m[1] + "/readyz") //nolint:noctx // it has a timeout
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}}
}

// plain is the baseline with one of its reconcilers.
func plain(name, program string, flags ...string) kind {
	return kind{name, program, func(namespace, kubeconfig string) []string {
		return append([]string{"--kubeconfig=" + kubeconfig, "--namespace=" + namespace}, flags...)
	}, func(string) []string {
		return []string{"--leader-elect"}
	}, func(log string) bool {
		return strings.Contains(log, "ready\n")
	}}
}

// start starts a controller and returns when it works or, as one of several
// replicas, waits for the lease.
func (k kind) start(
	ctx context.Context, dir, namespace, kubeconfig, name string, elect bool,
) (*child, error) {
	c := &child{log: filepath.Join(dir, namespace+"-"+name+".log"), ended: make(chan ending, 1)}
	out, err := os.Create(c.log) // a new file for each run, because ready reads it from the start
	if err != nil {
		return nil, err
	}
	defer out.Close()
	args := k.args(namespace, kubeconfig)
	if elect {
		args = append(args, k.elect(namespace)...)
	}
	c.cmd = exec.Command(k.program, args...) //nolint:noctx // end ends it
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // Pdeathsig is sent when the thread that started the process ends
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.ended <- ending{c.cmd.Wait()}
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if text, err := os.ReadFile(c.log); err == nil && k.ready(string(text)) {
			return c, nil
		}
		select {
		case e := <-c.ended:
			return nil, fmt.Errorf("%s ended: %w; its log is %s", k.name, e.err, c.log)
		case <-ctx.Done():
			_ = c.cmd.Process.Kill()
			return nil, fmt.Errorf("%s is not ready: %w; its log is %s", k.name, ctx.Err(), c.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cost is what a process used.
type cost struct {
	cpu  time.Duration
	peak float64 // MiB
}

// end ends the controller by a signal and returns the kernel's numbers.
func (c *child) end(signal syscall.Signal) (cost, error) {
	peak, err := c.peak()
	if err != nil {
		return cost{}, err
	}
	if err := c.cmd.Process.Signal(signal); err != nil {
		return cost{}, err
	}
	select {
	case <-c.ended: // ignore its error, only the numbers count
	case <-time.After(40 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.ended
		message := "the controller did not end within 40 seconds of SIGTERM; its log is "
		return cost{}, errors.New(message + c.log)
	}
	state := c.cmd.ProcessState
	return cost{state.UserTime() + state.SystemTime(), peak}, nil
}

// peak returns the highest resident memory, in MiB. The number of wait4(2) is
// not usable, because it includes the memory of the parent at the start.
func (c *child) peak() (float64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(c.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %g kB", &kib); err == nil {
			return kib / 1024, nil
		}
	}
	return 0, errors.New("the kernel does not count what a process uses")
}

// now returns the CPU time of a running process, over its threads, and its
// memory in MiB.
func (c *child) now() (cpu time.Duration, resident float64, err error) {
	proc := "/proc/" + strconv.Itoa(c.cmd.Process.Pid)
	threads, err := filepath.Glob(proc + "/task/*/schedstat")
	if err != nil {
		return 0, 0, err
	}
	for _, thread := range threads {
		var nanos time.Duration
		if err := scan(thread, "%d", &nanos); err != nil {
			return 0, 0, err
		}
		cpu += nanos
	}
	var size, pages float64
	err = scan(proc+"/statm", "%g %g", &size, &pages)
	return cpu, pages * float64(os.Getpagesize()) / (1 << 20), err
}

func scan(file, format string, into ...any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = fmt.Sscanf(string(text), format, into...)
	}
	return err
}
