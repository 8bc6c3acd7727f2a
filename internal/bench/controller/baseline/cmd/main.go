// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd runs a controller of package baseline.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/proompteng/controllerkit/internal/bench/controller/baseline"
)

func main() {
	namespace := flag.String("namespace", "", "`namespace` to work in")
	elect := flag.Bool("leader-elect", false, "reconcile only while holding the lease")
	care := flag.Bool("careful", false, "lose no result")
	flag.Parse() // --kubeconfig is controller-runtime's
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), *namespace, *elect, *care); err != nil {
		ctrl.Log.Error(err, "the manager ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, namespace string, elect, care bool) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	options, err := baseline.Options(namespace)
	if err != nil {
		return err
	}
	options.Metrics.BindAddress = "127.0.0.1:0"
	options.LeaderElection = elect
	options.LeaderElectionID = "agentrun"
	options.LeaderElectionNamespace = namespace
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	err = baseline.Add(mgr, care)
	if err != nil {
		return err
	}
	err = mgr.Add(saysReady{mgr.GetCache()})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// saysReady logs once that the manager has started.
type saysReady struct{ cache cache.Cache }

// NeedLeaderElection is false: a replica that waits for the lease is ready.
func (saysReady) NeedLeaderElection() bool { return false }

func (r saysReady) Start(ctx context.Context) error {
	if r.cache.WaitForCacheSync(ctx) {
		fmt.Fprintln(os.Stdout, "ready")
	}
	return nil
}
