// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"context"
	"errors"
	"os"
	"syscall"
)

// Dump ends the controller with SIGQUIT and returns what the Go runtime then
// prints: the stacks of all its goroutines. It needs no endpoint that a
// controller should not have.
func (p *Process) Dump(ctx context.Context) (stacks []byte, err error) {
	before, err := os.Stat(p.Log)
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return nil, err
	}
	if err := p.Wait(ctx); err == nil {
		return nil, errors.New("the controller ended by itself before it could be asked for its goroutines")
	}
	log, err := os.ReadFile(p.Log)
	if err != nil {
		return nil, err
	}
	_, stacks, found := bytes.Cut(log[before.Size():], []byte("SIGQUIT: quit"))
	if !found {
		return nil, errors.New("the controller's log holds no stacks after SIGQUIT")
	}
	return stacks, nil
}
