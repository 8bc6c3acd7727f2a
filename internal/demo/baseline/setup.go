// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package baseline is the example's controller written with controller-runtime
// alone: its manager, cache, queue, recorder, metrics and client. It supports
// the same AgentRuns with Job, Secret, suspend, cancel and both retentions.
//
// Two reconcilers are to choose from. The usual one does what most controllers
// do: it sets the Job's TTL when it creates the Job, and updates the status
// with RetryOnConflict. The careful one loses no result: it sets the TTL
// after the result is recorded, and writes the status under an optimistic lock.
//
// Other choices are in favour of both. They have pauses after an error that
// suit the load. They cache only one namespace, without managedFields and pod
// templates of Jobs, and read Secrets live. A cached read waits for the earlier
// writes.
package baseline

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// uncached reads a kind that is not cached. Otherwise the client would start an
// informer and wait for it, which the role does not allow.
const uncached = client.DisableReadYourWritesConsistency

// New returns a manager of one namespace with the usual or the careful
// reconciler. It sets the scheme, the cache and the client of the options.
//
//nolint:ireturn // it has no concrete type
func New(config *rest.Config, o ctrl.Options, namespace string, care bool) (ctrl.Manager, error) {
	o.Scheme = runtime.NewScheme()
	o.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	o.Cache.DefaultTransform = small
	o.Client.Cache = &client.CacheOptions{
		DisableFor:                      []client.Object{new(corev1.Secret)},
		EnableReadYourWritesConsistency: new(true),
	}
	err := errors.Join(clientgoscheme.AddToScheme(o.Scheme), v1alpha1.AddToScheme(o.Scheme))
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, err
	}
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("agentrun"), care)
	var changes []builder.ForOption
	if care {
		// Not its own status writes.
		changes = append(changes, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	const (
		least = 200 * time.Millisecond
		most  = 30 * time.Second
	)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](least, most)
	return mgr, ctrl.NewControllerManagedBy(mgr).
		For(new(v1alpha1.AgentRun), changes...).
		Owns(new(batchv1.Job)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: limiter}).
		Complete(r)
}

// NewReconciler returns the usual or the careful reconciler. The client reads
// from a cache, except Secrets, and live does not.
//
//nolint:ireturn // it is one of two
func NewReconciler(c client.Client, live client.Reader, recorder events.EventRecorder, care bool) reconcile.Reconciler {
	if care {
		return &careful{Client: c, live: live, events: recorder}
	}
	return &usual{Client: c, events: recorder}
}

// small drops what no reconciler reads, as the example does.
func small(obj any) (any, error) {
	if job, ok := obj.(*batchv1.Job); ok {
		job.Spec.Template = corev1.PodTemplateSpec{}
	}
	return cache.TransformStripManagedFields()(obj)
}
