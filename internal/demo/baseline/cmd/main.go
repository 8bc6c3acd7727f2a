// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd runs a controller of package baseline.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/proompteng/controllerkit/internal/demo/baseline"
)

// The flags are named as the example's.
func main() {
	var o ctrl.Options
	namespace := flag.String("namespaces", "", "`namespace` to work in")
	flag.StringVar(&o.Metrics.BindAddress, "metrics-bind-address", "", "address of the metrics")
	flag.BoolVar(&o.LeaderElection, "leader-elect", false, "reconcile only while holding the lease")
	flag.StringVar(&o.LeaderElectionID, "leader-elect-lease-name", "", "name of the lease")
	flag.StringVar(&o.LeaderElectionNamespace, "leader-elect-lease-namespace", "", "namespace of the lease")
	kind := flag.String("kind", string(baseline.Usual),
		"`kind` of the reconciler: usual, careful or careful-by-cache")
	flag.Parse() // --kubeconfig is controller-runtime's
	// As the example.
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(ctrl.SetupSignalHandler(), o, *namespace, baseline.Kind(*kind)); err != nil {
		ctrl.Log.Error(err, "the manager ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, o ctrl.Options, namespace string, kind baseline.Kind) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	mgr, err := baseline.New(config, o, namespace, kind)
	if err != nil {
		return err
	}
	err = mgr.AddMetricsServerExtraHandler("/readyz", ready(mgr.GetCache()))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// ready answers as the example does. A replica that waits for the lease is
// ready.
func ready(c cache.Cache) http.Handler {
	return healthz.CheckHandler{Checker: func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches have not synced")
		}
		return nil
	}}
}
