// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command main is a manager as kubebuilder scaffolds it, with the blocks of controllerkit. See internal/controller.
package main

import (
	"context"
	"flag"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/examples/controller-runtime/internal/controller"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func main() {
	options := ctrl.Options{LeaderElectionID: "tasks.controllerkit.dev"}
	flag.StringVar(&options.Metrics.BindAddress, "metrics-bind-address", ":8080", "`address` that serves /metrics and /metrics/all")
	flag.StringVar(&options.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "`address` that serves /healthz and /readyz")
	flag.BoolVar(&options.LeaderElection, "leader-elect", false, "let one replica at a time reconcile")
	flag.Parse()

	ctrl.SetLogger(zap.New())
	config, err := ctrl.GetConfig()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), config, options)
	}
	if err != nil {
		ctrl.Log.Error(err, "the manager ended")
		os.Exit(1)
	}
}

// run runs the manager until ctx ends.
func run(ctx context.Context, config *rest.Config, options ctrl.Options) error {
	// The endpoint serves what is recorded here beside controller-runtime's own metrics, on its server: with its TLS, its
	// authorization and its port. The path /metrics stays as it was.
	endpoint, err := prom.New(prom.Options{Also: []prometheus.Gatherer{ctrlmetrics.Registry}}) // +metrics/prom
	if err != nil {
		return err
	}
	m, err := metrics.New(endpoint, metrics.Options{}) // +metrics
	if err != nil {
		return err
	}
	config.Wrap(kube.Transport(m))                                                    // +metrics/kube
	options.Metrics.ExtraHandlers = map[string]http.Handler{"/metrics/all": endpoint} // +metrics/prom

	// A read through the cache waits for the writes made before it, so that no reconcile begins with what it has just changed.
	options.Client.Cache = &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}

	options.Scheme = runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(options.Scheme); err != nil {
		return err
	}
	if err := v1.AddToScheme(options.Scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	recorder, err := controller.SetupWithManager(ctx, mgr, m)
	if err != nil {
		return err
	}
	return recorder.Outlive(ctx, mgr.Start) // +events
}
