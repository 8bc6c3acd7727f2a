// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events_test tests package events on a real API server.
//
// Only this suite proves which Events a server accepts in each API group, what
// kubectl shows of them, which permissions are needed, and what happens when a
// server dies, hangs or limits the rate. The package has the tests that need no
// server.
package events_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
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

// limits is the configuration of the admission plugin EventRateLimit on the
// shared control plane.
const (
	limitBurst = 5
	limits     = `{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
	{"name": "EventRateLimit", "configuration": {
		"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration",
		"limits": [{"type": "Namespace", "qps": 1, "burst": 5}]}}]}`
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/events:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "events-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	admission := filepath.Join(dir, "admission.json")
	if err := os.WriteFile(admission, []byte(limits), 0o600); err != nil {
		return 1, err
	}

	var started []*controlplane.ControlPlane
	start := func(args ...string) (*controlplane.ControlPlane, error) {
		cp, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr, APIServerArgs: args})
		if err == nil {
			started = append(started, cp)
		}
		return cp, err
	}
	defer func() {
		for _, cp := range started {
			if code != 0 {
				cp.Keep()
				fmt.Fprintln(os.Stderr, "e2e/events: the logs are kept in", cp.Dir())
			}
			err = errors.Join(err, cp.Stop())
		}
	}()
	if plane, err = start("--enable-admission-plugins=EventRateLimit", "--admission-control-config-file="+admission); err != nil {
		return 1, err
	}
	old = sync.OnceValues(func() (*controlplane.ControlPlane, error) {
		// Events of the same time share a lease. Without the second flag they
		// may live a minute longer.
		return start("--runtime-config=events.k8s.io/v1=false", "--event-ttl="+eventTTL, "--lease-reuse-duration-seconds=1")
	})
	return m.Run(), nil
}
