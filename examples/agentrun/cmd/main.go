// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd is a controller that runs AgentRuns as Jobs. "cmd manifests FILE"
// prints a Deployment, or its canary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/proompteng/controllerkit/events"
	eventsettings "github.com/proompteng/controllerkit/events/settings"
	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/jobgc/settings"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// flags are the program's flags, in addition to controller-runtime's
// --kubeconfig.
type flags struct {
	namespaces, selector string
	reconcile            bool
	noPodsAfter          time.Duration
	address, certDir     string // of the endpoint
	manager              ctrl.Options
}

func main() {
	var f flags
	flag.StringVar(&f.namespaces, "namespaces", "",
		"comma-separated `list` of namespaces to work in; empty means all")
	flag.StringVar(&f.selector, "selector", "", "label `selector` of the runs to work on; empty means all. "+
		"Each shard needs its own lease")
	flag.BoolVar(&f.reconcile, "reconcile", true, "false only serves the endpoint and asks no cluster")
	flag.DurationVar(&f.noPodsAfter, "no-pods-after", 30*time.Second,
		"how long a Job that runs may have no pod until its run says NoPods; 0 means 30s")
	flag.StringVar(&f.address, "metrics-bind-address", ":8080",
		"`address` that serves /metrics, /healthz and /readyz")
	flag.StringVar(&f.certDir, "metrics-cert-dir", "",
		"`folder` with tls.crt and tls.key for that address; empty means plain HTTP")
	flag.BoolVar(&f.manager.LeaderElection, "leader-elect", false, "let one replica at a time reconcile")
	flag.StringVar(&f.manager.LeaderElectionID, "leader-elect-lease-name", "agentrun", "`name` of the lease")
	flag.StringVar(&f.manager.LeaderElectionNamespace, "leader-elect-lease-namespace", "",
		"`namespace` of the lease; empty means the pod's")
	flag.Parse()

	log := logr.FromSlogHandler(tracelog.Handler(slog.NewJSONHandler(os.Stderr, nil)))
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client-go"))
	var err error
	switch flag.Arg(0) {
	case "":
		err = serve(ctrl.SetupSignalHandler(), f, os.LookupEnv)
	case "manifests":
		err = manifests(os.LookupEnv, os.Stdout, flag.Args()[1:]...)
	default:
		err = fmt.Errorf("unexpected argument %q; want flags, or manifests FILE", flag.Arg(0))
	}
	if err != nil {
		log.Error(err, "Ended")
		os.Exit(1)
	}
}

// serve runs the controller until ctx ends. Nothing is registered in a global
// variable, so that a process may run a second manager.
func serve(ctx context.Context, f flags, lookup func(string) (string, bool)) error {
	t, err := newTelemetry(ctx, lookup)
	if err != nil {
		return err
	}
	defer t.shutdown(ctx)
	measure := metrics.Options{IsTerminal: events.IsTerminal, Tracer: t.tracer}
	m, err := metrics.New(t.endpoint, measure)
	if err != nil {
		return err
	}
	stopInTime(&f.manager)
	f.manager.Metrics.BindAddress = "0" // the endpoint has controller-runtime's metrics too
	mgr, start, err := f.newManager(ctx, lookup, m)
	if err != nil {
		return err
	}
	err = f.addServer(ctx, mgr, t.endpoint)
	if err != nil {
		return err
	}
	leader, err := kube.NewLeaderRunnable(m, f.manager.LeaderElectionID)
	if err != nil {
		return err
	}
	err = mgr.Add(leader)
	if err != nil {
		return err
	}
	return start(ctx)
}

// newManager returns the manager and a function that runs it, and writes its
// Events. With --reconcile=false the manager has no controller.
//
//nolint:ireturn // a manager has no concrete type
func (f flags) newManager(
	ctx context.Context, lookup func(string) (string, bool), m *metrics.Metrics,
) (mgr ctrl.Manager, start func(context.Context) error, err error) {
	if !f.reconcile {
		mgr, err = ctrl.NewManager(new(rest.Config), f.manager)
		if err != nil {
			return nil, nil, err
		}
		return mgr, mgr.Start, nil
	}
	o, err := f.options(lookup)
	if err != nil {
		return nil, nil, err
	}
	o.Metrics = m
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, nil, err
	}
	mgr, recorder, err := controller.NewManager(ctx, config, f.manager, o)
	if err != nil {
		return nil, nil, err
	}
	return mgr, func(ctx context.Context) error { return recorder.RunWith(ctx, mgr.Start) }, nil
}

// options reads the settings of the controller. The error names all mistakes.
func (f flags) options(lookup func(string) (string, bool)) (controller.Options, error) {
	var o controller.Options
	var ofEvents, ofJobs, ofSelector error
	o.Events, ofEvents = eventsettings.FromEnv(lookup, eventsettings.JangarNames())
	o.Retention, ofJobs = settings.FromEnv(lookup, settings.JangarNames())
	o.NoPodsAfter = f.noPodsAfter
	o.Selector, ofSelector = labels.Parse(f.selector)
	if ofSelector != nil {
		ofSelector = fmt.Errorf("--selector: %w", ofSelector)
	}
	err := errors.Join(ofEvents, ofJobs, ofSelector)
	if f.noPodsAfter < 0 {
		err = errors.Join(err, fmt.Errorf(
			"--no-pods-after: %v is not accepted; want 0 or more", f.noPodsAfter))
	}
	if f.namespaces == "" {
		return o, err
	}
	for namespace := range strings.SplitSeq(f.namespaces, ",") {
		wrong := validation.IsDNS1123Label(namespace)
		if len(wrong) > 0 {
			err = errors.Join(err, fmt.Errorf("--namespaces: %q is not a namespace: %s", namespace, wrong[0]))
		}
		o.Namespaces = append(o.Namespaces, namespace)
	}
	return o, err
}

// stopInTime leaves the recorder its time before the pod is killed, and frees
// the lease when the reconcilers have ended. RunWith writes only Events after
// that.
func stopInTime(manager *ctrl.Options) {
	manager.GracefulShutdownTimeout = new(15 * time.Second)
	manager.LeaderElectionReleaseOnCancel = true
}
