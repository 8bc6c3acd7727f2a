// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events_test tests package events on a real API server.
//
// Only this suite proves that a server accepts what a Recorder writes in each
// API group, what kubectl shows of it, which permissions are needed, and what
// happens when a server dies, hangs or limits the rate of a namespace. The
// package has the tests that need no server.
//
// The suite needs Linux.
package events_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// plane is the control plane of all tests that do not use old. Each test has a
// separate namespace.
var plane *controlplane.ControlPlane

// old returns a control plane whose API server does not serve events.k8s.io and
// deletes Events soon. The first call starts it.
var old func() (*controlplane.ControlPlane, error)

// eventTTL is how long the API server of old keeps an Event.
const eventTTL = "12s"

// update rewrites the golden files.
var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// limitBurst is how many core/v1 Events of a namespace the admission plugin
// EventRateLimit accepts at once, by testdata/admission.json.
const limitBurst = 5

func TestMain(m *testing.M) {
	limits, err := filepath.Abs("testdata/admission.json")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/events:", err)
		os.Exit(1)
	}
	var second *controlplane.ControlPlane
	code := suite.Main(m, "e2e/events", controlplane.Options{APIServerArgs: []string{
		"--enable-admission-plugins=EventRateLimit", "--admission-control-config-file=" + limits,
	}}, func(ctx context.Context, cp *controlplane.ControlPlane) error {
		plane = cp
		old = sync.OnceValues(func() (cp *controlplane.ControlPlane, err error) {
			// Events of the same time share a lease. Without the last flag they
			// may live a minute longer.
			second, err = controlplane.Start(context.WithoutCancel(ctx), controlplane.Options{Log: os.Stderr, APIServerArgs: []string{
				"--runtime-config=events.k8s.io/v1=false", "--event-ttl=" + eventTTL, "--lease-reuse-duration-seconds=1",
			}})
			return second, err
		})
		return nil
	})
	if second != nil {
		if code != 0 {
			second.Keep()
		}
		if err := second.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e/events:", err)
			code = 1
		}
	}
	os.Exit(code)
}
