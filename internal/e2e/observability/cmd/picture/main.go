// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command picture draws the dashboard without Grafana. It runs the example
// under load with a real Prometheus, sends each panel's queries, and writes the
// page dashboard.html, which loads nothing from the network. If Chromium is
// installed, it also takes a screenshot.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/observability"
	"github.com/proompteng/controllerkit/internal/e2e/promtest"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

func main() {
	out := flag.String("out", ".", "`folder` for dashboard.html and dashboard.png")
	load := flag.Duration("load", 45*time.Second, "how long the load lasts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *out, *load)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, load time.Duration) (err error) {
	out, err = filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	page, err := played(ctx, plane, load)
	if err != nil {
		return err
	}
	path := filepath.Join(out, "dashboard.html")
	if err := os.WriteFile(path, page, 0o600); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, path)
	return screenshot(ctx, path, filepath.Join(out, "dashboard.png"))
}

// played runs the example under load and returns the page.
func played(ctx context.Context, plane *controlplane.ControlPlane, load time.Duration) (page []byte, err error) {
	kubectl, kubeconfig, err := rig.Local(ctx, plane)
	if err != nil {
		return nil, err
	}
	if _, err := kubectl.Run(ctx, rbac.LeaderYAML(), "--namespace=default", "apply", "--server-side", "-f", "-"); err != nil {
		return nil, err
	}
	stage, err := play.NewStage(plane.Config(), "default")
	if err != nil {
		return nil, err
	}
	program, err := rig.Build(ctx, plane.Dir())
	if err != nil {
		return nil, err
	}
	p, err := rig.Start(ctx, program, plane.Dir(), kubeconfig, nil, "--leader-elect", "--leader-elect-lease-namespace=default")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	prometheus, err := promtest.Start(ctx, plane.Dir(), promtest.Job{Name: observability.Job, URL: p.URL + "/metrics"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, prometheus.Stop()) }()

	began := time.Now()
	loading, enough := context.WithTimeout(ctx, load)
	defer enough()
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() { failed = observability.Load(loading, stage, 150*time.Millisecond) })
	wg.Wait()
	if failed != nil {
		return nil, failed
	}
	pack, err := manifest.New(manifest.Target{Name: observability.Job})
	if err != nil {
		return nil, err
	}
	return render(ctx, prometheus.API, pack.Dashboard(), began, time.Now())
}

// screenshot draws the page with Chromium, if it is installed.
func screenshot(ctx context.Context, page, png string) error {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(os.Stdout, "no screenshot: chromium is not installed")
		return nil
	}
	profile, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(profile) }()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	// No sandbox, because it needs rights that a container lacks. The page
	// comes from this program and loads nothing.
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+profile,
		"--window-size=1640,5000", "--screenshot="+png, "file://"+page)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("chromium: %w: %s", err, bytes.TrimSpace(said))
	}
	fmt.Fprintln(os.Stdout, png)
	return nil
}
