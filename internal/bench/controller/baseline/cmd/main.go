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

func main() {
	var o options
	flag.StringVar(&o.namespace, "namespaces", "", "`namespace` to work in")
	flag.StringVar(&o.metrics, "metrics-bind-address", "", "address of the metrics")
	flag.String("log-format", "json", "the only one")
	flag.BoolVar(&o.elect, "leader-elect", false, "reconcile only while holding the lease")
	flag.StringVar(&o.lease, "leader-elect-lease-name", "", "name of the lease")
	flag.String("leader-elect-lease-namespace", "", "the namespace to work in")
	flag.BoolVar(&o.care, "careful", false, "lose no result")
	flag.Parse() // --kubeconfig is controller-runtime's
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		ctrl.Log.Error(err, "the manager ended")
		os.Exit(1)
	}
}

// options are the flags, which are named as the example's.
type options struct {
	namespace, metrics, lease string
	elect, care               bool
}

func run(ctx context.Context, o options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	options, err := baseline.Options(o.namespace)
	if err != nil {
		return err
	}
	options.Metrics.BindAddress = o.metrics
	options.LeaderElection = o.elect
	options.LeaderElectionID = o.lease
	options.LeaderElectionNamespace = o.namespace
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	err = baseline.Add(mgr, o.care)
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
