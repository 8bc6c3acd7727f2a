// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package baseline is the example's controller written with controller-runtime
// alone: its manager, cache, queue, recorder, metrics and client. It supports
// the same AgentRuns with Job, Secret, suspend, cancel and both retentions.
//
// A [Kind] chooses the reconciler. The usual one does what most controllers do:
// it sets the Job's TTL when it creates the Job, and updates the status with
// RetryOnConflict. The careful one loses no result: it sets the TTL after the
// result is recorded, writes the status under an optimistic lock, and reads the
// run live before it creates a Job. Without that read, it may create a second
// Job after a restart with an old cache.
//
// Other choices are in favour of all. They have as many workers as the example,
// and pauses after an error that suit the load. They cache only one namespace,
// without managedFields and pod templates of Jobs, and read Secrets live. A
// cached read waits for the earlier writes.
package baseline

import (
	"errors"
	"fmt"
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

// Kind is one of the reconcilers.
type Kind string

// The kinds.
const (
	Usual          Kind = "usual"
	Careful        Kind = "careful"
	CarefulByCache Kind = "careful-by-cache" // without the live read before a creation
)

// workers is the number of the example's workers.
const workers = 50

// New returns a manager of one namespace with the reconciler of a kind. It sets
// the scheme, the cache and the client of the options.
//
//nolint:ireturn // it has no concrete type
func New(config *rest.Config, o ctrl.Options, namespace string, kind Kind) (ctrl.Manager, error) {
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
	r, err := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("agentrun"), kind)
	if err != nil {
		return nil, err
	}
	var changes []builder.ForOption
	if kind != Usual {
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
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: limiter}).
		Complete(r)
}

// NewReconciler returns the reconciler of a kind. The client reads from a
// cache, except Secrets, and live does not.
//
//nolint:ireturn // it is one of several
func NewReconciler(
	c client.Client, live client.Reader, recorder events.EventRecorder, kind Kind,
) (reconcile.Reconciler, error) {
	switch kind {
	case Usual:
		return &usual{Client: c, events: recorder}, nil
	case Careful:
		return &careful{Client: c, live: live, events: recorder}, nil
	case CarefulByCache:
		return &careful{Client: c, live: live, events: recorder, trusts: true}, nil
	}
	return nil, fmt.Errorf("baseline: kind %q is not accepted; want %s, %s or %s",
		kind, Usual, Careful, CarefulByCache)
}

// small drops what no reconciler reads, as the example does.
func small(obj any) (any, error) {
	if job, ok := obj.(*batchv1.Job); ok {
		job.Spec.Template = corev1.PodTemplateSpec{}
	}
	return cache.TransformStripManagedFields()(obj)
}
