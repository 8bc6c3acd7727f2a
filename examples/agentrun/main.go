// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agentrun is a controller composed of the packages of controllerkit.
// It runs AgentRuns as Jobs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/go-logr/logr"

	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/tracelog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is a mistake in the flags or the environment. The exit code is 2.
type usageError struct{ error }

// run is main with its inputs and outputs as parameters. It returns the exit
// code.
func run(
	ctx context.Context, args []string, lookup func(string) (string, bool), stdout, stderr io.Writer,
) int {
	if len(args) > 0 && args[0] == "manifests" {
		return exitCode(manifests(args[1:], lookup, stdout), stderr)
	}
	o, err := parse(args, lookup, stdout)
	switch {
	case err == nil && o.version:
		fmt.Fprintln(stdout, "agentrun", version())
		return 0
	case err == nil && o.releaseHolds:
		err = releaseHolds(ctx, o, stdout)
	case err == nil:
		err = serve(ctx, o, stderr)
	}
	return exitCode(err, stderr)
}

// exitCode prints an error and returns the code for it.
func exitCode(err error, stderr io.Writer) int {
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "agentrun: %v\n", err)
		return 2
	default:
		fmt.Fprintf(stderr, "agentrun: %v\n", err)
		return 1
	}
}

// serve runs the controller and its endpoint until ctx ends.
func serve(ctx context.Context, o options, stderr io.Writer) error {
	log := logr.FromSlogHandler(o.handler(stderr))
	klog.SetLogger(log.WithName("client-go"))
	ctx = logr.NewContext(ctx, log)

	t, err := newTelemetry(ctx, o.sending)
	if err != nil {
		return usageError{err}
	}
	defer t.shutdown(ctx)
	o.controller.Tracer = t.tracer
	m, err := metrics.New(t.endpoint, metrics.Options{})
	if err != nil {
		return err
	}
	if o.controller.Hold {
		o.controller.OnHolds, err = observeHolds(ctx, t.endpoint)
		if err != nil {
			return err
		}
	}
	ready, work := idle()
	if o.reconcile {
		ready, work, err = reconciling(o, m) //nolint:contextcheck // a queue has no context
		if err != nil {
			return usageError{err}
		}
	}
	listener, err := o.listen(ctx)
	if err != nil {
		return usageError{err}
	}
	log.Info("listening", "address", listener.Addr().String(), "paths", "/metrics /healthz /readyz")

	// The endpoint ends after the controller, so that Prometheus can still
	// scrape it while the controller stops.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	working, end := context.WithCancel(ctx)
	defer end()
	var wg sync.WaitGroup
	var served error
	wg.Go(func() {
		defer end() // without its port the program ends
		served = serveHTTP(serving, listener, t.endpoint, ready)
	})
	err = work(working)
	stop()
	wg.Wait()
	return errors.Join(err, served) // m stays open: shutdown sends its last counts
}

// reconciling creates the controller, and the election that decides when it
// works. A replica that waits for the lease is ready too; otherwise no rolling
// update would finish.
func reconciling(
	o options, m *metrics.Metrics,
) (ready func() bool, work func(context.Context) error, err error) {
	config, namespace, err := o.config()
	if err != nil {
		return nil, nil, err
	}
	if o.leaderElect {
		o.leaseNamespace = namespace
		e, err := newElection(config, m, o)
		if err != nil {
			return nil, nil, err
		}
		o.controller.Lead = e.lead
	}
	c, err := controller.New(config, m, o.controller)
	if err != nil {
		return nil, nil, err
	}
	return c.Ready, c.Start, nil
}

// idle replaces the controller with --reconcile=false. It is ready immediately.
func idle() (ready func() bool, work func(context.Context) error) {
	always := func() bool { return true }
	return always, func(ctx context.Context) error {
		logr.FromContextOrDiscard(ctx).Info("Reconciling is off")
		<-ctx.Done()
		return nil
	}
}

func (o *options) handler(w io.Writer) slog.Handler {
	format := &slog.HandlerOptions{ReplaceAttr: shortText}
	if o.logFormat == "json" {
		return tracelog.Handler(slog.NewJSONHandler(w, format))
	}
	return tracelog.Handler(slog.NewTextHandler(w, format))
}

// shortText cuts a text of more than 4 KiB to 1 KiB. An error of client-go or
// of a sweep may quote an answer of megabytes.
func shortText(_ []string, a slog.Attr) slog.Attr {
	var text string
	switch v := a.Value.Any().(type) {
	case error:
		text = v.Error()
	case string:
		text = v
	}
	if len(text) > 4<<10 {
		a.Value = slog.StringValue(redact.Note(text, nil))
	}
	return a
}

// version is the version of the module that the Go tool recorded in the
// program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return strings.Trim(info.Main.Version, "()")
}
