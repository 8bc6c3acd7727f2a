// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd runs a controller of package baseline.
package main

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/proompteng/controllerkit/internal/bench/controller/baseline"
)

// The flags are named as the example's.
func main() {
	var o ctrl.Options
	namespace := flag.String("namespaces", "", "`namespace` to work in")
	flag.StringVar(&o.Metrics.BindAddress, "metrics-bind-address", "", "address of the metrics")
	flag.String("log-format", "json", "the only one")
	flag.BoolVar(&o.LeaderElection, "leader-elect", false, "reconcile only while holding the lease")
	flag.StringVar(&o.LeaderElectionID, "leader-elect-lease-name", "", "name of the lease")
	flag.StringVar(&o.LeaderElectionNamespace, "leader-elect-lease-namespace", "", "namespace of the lease")
	care := flag.Bool("careful", false, "lose no result")
	flag.Parse() // --kubeconfig is controller-runtime's
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), o, *namespace, *care); err != nil {
		ctrl.Log.Error(err, "the manager ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, o ctrl.Options, namespace string, care bool) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	mgr, err := baseline.New(config, o, namespace, care)
	if err != nil {
		return err
	}
	err = mgr.Add(saysReady{mgr.GetCache()})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// saysReady logs an address that answers once the manager has started.
type saysReady struct{ cache cache.Cache }

// NeedLeaderElection is false: a replica that waits for the lease is ready.
func (saysReady) NeedLeaderElection() bool { return false }

func (r saysReady) Start(ctx context.Context) error {
	if r.cache.WaitForCacheSync(ctx) {
		ready := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		ctrl.Log.Info("listening", "address", ready.Listener.Addr().String())
	}
	return nil
}
