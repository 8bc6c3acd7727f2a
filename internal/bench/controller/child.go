// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// kind is one of the controllers.
type kind struct {
	name    string
	program string
	flags   []string
}

// leaseName is the name of each controller's lease, in the controller's
// namespace. It lasts 15 seconds, the default of all.
const leaseName = "agentrun"

// start starts a controller and returns when it works or, as one of several
// replicas, waits for the lease.
func (k kind) start(ctx context.Context, s *stand, w *world, name string, elect bool) (*rig.Process, error) {
	dir := filepath.Join(s.dir, w.Namespace+"-"+name) // of its log
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	args := append([]string{"--namespaces=" + w.Namespace}, k.flags...)
	if elect {
		args = append(args, "--leader-elect",
			"--leader-elect-lease-name="+leaseName, "--leader-elect-lease-namespace="+w.Namespace)
	}
	return rig.Start(ctx, k.program, dir, w.kubeconfig, nil, args...)
}

// cost is what a process used.
type cost struct {
	cpu  time.Duration
	peak float64 // MiB
}

// end ends the controller and returns the kernel's numbers.
func end(p *rig.Process, by func() error) (cost, error) {
	peak, err := peak(p.PID())
	if err != nil {
		return cost{}, err
	}
	_ = by() // only the numbers count
	state := p.State()
	return cost{state.UserTime() + state.SystemTime(), peak}, nil
}

// peak returns the highest resident memory, in MiB. The number of wait4(2) is
// not usable, because it includes the memory of the parent at the start.
func peak(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, line, found := strings.Cut(string(status), "VmHWM:")
	if !found {
		return 0, errors.New("the kernel does not count what a process uses")
	}
	var kib float64
	_, err = fmt.Sscan(line, &kib)
	return kib / 1024, err
}

// now returns the CPU time of a running process, over its threads, and its
// memory in MiB.
func now(p *rig.Process) (cpu time.Duration, resident float64, err error) {
	proc := fmt.Sprintf("/proc/%d", p.PID())
	threads, err := filepath.Glob(proc + "/task/*/schedstat")
	if err != nil {
		return 0, 0, err
	}
	for _, thread := range threads {
		var nanos time.Duration
		if err := scan(thread, &nanos); err != nil {
			return 0, 0, err
		}
		cpu += nanos
	}
	var size, pages float64
	err = scan(proc+"/statm", &size, &pages)
	return cpu, pages * float64(os.Getpagesize()) / (1 << 20), err
}

func scan(file string, into ...any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = fmt.Sscan(string(text), into...)
	}
	return err
}
