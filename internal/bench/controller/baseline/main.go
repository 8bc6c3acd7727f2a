// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command baseline is the example's controller written with controller-runtime
// alone: its manager, cache, queue, recorder, metrics and client, and a status
// update with RetryOnConflict. It supports the same AgentRuns with Job, Secret,
// suspend, cancel and both retentions. It differs in one point, like most
// controllers: it sets the Job's TTL when it creates the Job, and not after the
// result is recorded. The loads are also measured without such runs.
//
// Other choices are in its favour. It has the example's rate limit, number of
// workers and pauses after an error. It caches only one namespace and reads
// Secrets live. A cached read waits for the earlier writes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

func main() {
	namespace := flag.String("namespace", "", "`namespace` to work in")
	elect := flag.Bool("leader-elect", false, "reconcile only while holding the lease")
	flag.Parse() // --kubeconfig is controller-runtime's
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), *namespace, *elect); err != nil {
		ctrl.Log.Error(err, "the manager ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, namespace string, elect bool) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	options := ctrl.Options{
		Scheme: runtime.NewScheme(),
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor:                      []client.Object{new(corev1.Secret)},
			EnableReadYourWritesConsistency: new(true),
		}},
	}
	options.Metrics.BindAddress = "127.0.0.1:0"
	options.LeaderElection, options.LeaderElectionID, options.LeaderElectionNamespace = elect, "agentrun", namespace
	if err := clientgoscheme.AddToScheme(options.Scheme); err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(options.Scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	r := &reconciler{Client: mgr.GetClient(), events: mgr.GetEventRecorder("agentrun")}
	if err := ctrl.NewControllerManagedBy(mgr).
		For(new(v1alpha1.AgentRun)).
		Owns(new(batchv1.Job)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 4,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 30*time.Second),
		}).
		Complete(r); err != nil {
		return err
	}
	if err := mgr.Add(saysReady{mgr.GetCache()}); err != nil {
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
