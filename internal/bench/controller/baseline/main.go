// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command baseline is the example's controller written with controller-runtime
// alone: its manager, cache, queue, recorder, metrics and client. It supports
// the same AgentRuns with Job, Secret, suspend, cancel and both retentions.
//
// Two reconcilers are to choose from. The usual one does what most controllers
// do: it sets the Job's TTL when it creates the Job, and updates the status
// with RetryOnConflict. With --careful it loses no result: it sets the TTL
// after the result is recorded, and writes the status under an optimistic lock.
//
// Other choices are in favour of both. They have the example's rate limit,
// number of workers and pauses after an error. They cache only one namespace,
// without managedFields and pod templates of Jobs, and read Secrets live. A
// cached read waits for the earlier writes.
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
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
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

// small drops what no reconciler reads, as the example does.
func small(obj any) (any, error) {
	if job, ok := obj.(*batchv1.Job); ok {
		job.Spec.Template = corev1.PodTemplateSpec{}
	}
	return cache.TransformStripManagedFields()(obj)
}

func run(ctx context.Context, namespace string, elect, care bool) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	options := ctrl.Options{
		Scheme: runtime.NewScheme(),
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}, DefaultTransform: small},
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
	var r reconcile.Reconciler = &usual{Client: mgr.GetClient(), events: mgr.GetEventRecorder("agentrun")}
	var changes []builder.ForOption
	if care {
		r = &careful{Client: mgr.GetClient(), live: mgr.GetAPIReader(), events: mgr.GetEventRecorder("agentrun")}
		changes = append(changes, builder.WithPredicates(predicate.GenerationChangedPredicate{})) // not its own status writes
	}
	if err := ctrl.NewControllerManagedBy(mgr).
		For(new(v1alpha1.AgentRun), changes...).
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
