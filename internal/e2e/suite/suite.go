// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite is the TestMain of the end-to-end packages: one control plane for all tests of a package, whose logs stay when one fails.
package suite

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// Main starts a control plane, hands it to prepare, runs the tests and stops it. It returns the code for os.Exit: 1 if anything but a
// test failed, with a line that begins with name.
func Main(m *testing.M, name string, opts controlplane.Options, prepare func(context.Context, *controlplane.ControlPlane) error) int {
	code, err := run(m, name, opts, prepare)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return code
}

func run(m *testing.M, name string, opts controlplane.Options, prepare func(context.Context, *controlplane.ControlPlane) error) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // the one of all tests: it begins here
	defer cancel()
	opts.Log = os.Stderr
	plane, err := controlplane.Start(ctx, opts)
	if err != nil {
		return 1, err
	}
	defer func() {
		if code != 0 {
			plane.Keep()
			fmt.Fprintf(os.Stderr, "%s: the logs are kept in %s\n", name, plane.Dir())
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
