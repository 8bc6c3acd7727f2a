// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite has what the end-to-end packages share. All tests of a
// package share one control plane. Its logs stay if a test fails.
package suite

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// Prepare installs what the tests of a package need on a new control plane.
type Prepare func(context.Context, *controlplane.ControlPlane) error

// Main starts a control plane, passes it to prepare, runs the tests and stops
// the control plane. It returns the code for os.Exit. If something other than a
// test failed, the code is 1 and a log line begins with name.
func Main(m *testing.M, name string, opts controlplane.Options, prepare Prepare) int {
	code, err := run(m, opts, prepare)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return code
}

func run(m *testing.M, opts controlplane.Options, prepare Prepare) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // the root of all tests
	defer cancel()
	opts.Log = os.Stderr
	plane, err := controlplane.Start(ctx, opts)
	if err != nil {
		return 1, err
	}
	defer func() {
		if code != 0 {
			plane.Keep()
		}
		if stopped := plane.Stop(); err == nil {
			err = stopped
		}
	}()
	if err := prepare(ctx, plane); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
