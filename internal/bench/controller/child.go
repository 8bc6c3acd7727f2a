// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// kind is one of the controllers.
type kind struct {
	name    string // in the table; the library needs none
	command []string
}

// leaseName is the name of each controller's lease, in the controller's
// namespace. It lasts 15 seconds, the default of all.
const leaseName = "agentrun"

// start starts a controller and returns when it works or, as one of several
// replicas, waits for the lease.
func (k kind) start(ctx context.Context, s *stand, w *world, elect bool) (*rig.Process, error) {
	dir, err := os.MkdirTemp(s.dir, w.Namespace+"-") // of its log
	if err != nil {
		return nil, err
	}
	args := append(slices.Clone(k.command[1:]), "--namespaces="+w.Namespace)
	if elect {
		args = append(args, "--leader-elect",
			"--leader-elect-lease-name="+leaseName, "--leader-elect-lease-namespace="+w.Namespace)
	}
	return rig.Start(ctx, k.command[0], dir, w.kubeconfig, nil, args...)
}

// cost is what a process used. The memory is in MiB.
type cost struct {
	cpu            time.Duration
	peak, resident float64
}

// end ends the controller and returns the kernel's numbers.
func end(p *rig.Process, by func() error) (cost, error) {
	used, err := memory(p)
	if err != nil {
		return used, err
	}
	_ = by() // only the numbers count
	state := p.State()
	used.cpu = state.UserTime() + state.SystemTime()
	return used, nil
}

// memory returns the memory of a running process. The highest memory of
// wait4(2) is not usable, because it includes the memory of the parent at the
// start.
func memory(p *rig.Process) (used cost, err error) {
	process, err := procfs.NewProc(p.PID())
	if err != nil {
		return used, err
	}
	status, err := process.NewStatus()
	used.peak = float64(status.VmHWM) / (1 << 20)
	used.resident = float64(status.VmRSS) / (1 << 20)
	return used, err
}
