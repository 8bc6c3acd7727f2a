// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller runs AgentRuns as Jobs. It is composed of the packages of
// controllerkit.
package controller

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/client"
	"github.com/proompteng/controllerkit/jobgc/expire"
	"github.com/proompteng/controllerkit/jobgc/settings"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/status"
)

// Name is the name of this controller in Events and managed fields.
const Name = "agents.controllerkit.dev/agentrun"

// Options configure a Controller. The zero value works.
type Options struct {
	// Namespaces whose runs are reconciled, each once. None means all.
	Namespaces []string
	// Selector is the label selector of the runs that are reconciled. Empty
	// means all.
	Selector string
	// Workers is the number of concurrent reconciles. Zero means 4. The runs of
	// one namespace get at most half of them, unless Namespaces has only that
	// one.
	Workers int
	// Retention is how long Jobs and runs stay.
	Retention settings.Settings
	// Hold keeps each Job until its result is recorded, by a finalizer. After
	// Hold was true, call ReleaseHolds before the controller is removed, and
	// after Hold is disabled.
	Hold bool
	// OnHolds, if set, is called at the start and every hour with the number of
	// held Jobs in a namespace ("" for all) and the age of the oldest one.
	OnHolds func(namespace string, held int, oldest time.Duration)
	// Events are the recorder's options. New sets Redact and OnResult.
	Events events.Options
	// Lead waits for the leadership, calls reconcile once, and returns the
	// error that ended it, if any. When leading is done, no reconcile starts,
	// and running ones have a grace period. When holding is done, another
	// replica may lead, so the requests of running reconciles are cancelled.
	// Leading must be done no later than holding. Nil means that this replica
	// leads from the start.
	Lead func(ctx context.Context, reconcile func(leading, holding context.Context)) error
	// Tracer makes a span of each reconcile. Nil means no spans.
	Tracer trace.Tracer

	_ struct{}
}

// Controller reconciles AgentRuns. Make one with New.
type Controller struct {
	options Options
	cluster kubernetes.Interface
	runs    func(namespace string) *client.Client
	scopes  []*scope
	queue   *kube.Queue[types.NamespacedName]
	backoff *backoff
	shares  *shares

	status     status.Writer
	recorder   *events.Recorder
	secrets    *redact.SecretValues
	metrics    *metrics.Controller
	measured   *metrics.Runs
	toAnnounce sync.Map // why a run failed, or nil, by the uid of a run whose end may be recorded
	announcing sync.Map // when the failure of a run was reported, by its uid
	outage     outage
	serverTime expire.ServerTime
	lateEvent  atomic.Pointer[time.Time] // when a worker waited for an Event in vain

	started sync.WaitGroup // by Start: the informers, and the check of the lists
	leads   atomic.Bool    // or has led
	mayList atomic.Bool    // what it would cache
}

// heartbeat is the longest time between two status writes of a run that is not
// terminal. An updatedAt that stops moving means a stuck controller.
const heartbeat = 10 * time.Minute

// A pod has 30 seconds to end, even if the API server hangs. Running reconciles
// get 5 seconds, the release of the lease takes 10 at most, and queued Events
// get 9. The endpoint then takes 2, and the telemetry 3.
const (
	finishTimeout = 5 * time.Second
	drainTimeout  = 9 * time.Second
)

// attemptTimeout is how long one attempt at a run may take. The creation of a
// Job may need 90 seconds of it.
const attemptTimeout = 2 * time.Minute

// usualStart is how long after its creation a Job has started normally. The
// whole seconds of a creation time make it up to one second less. The Ref must
// be recorded within two seconds.
const usualStart = 1800 * time.Millisecond

// passesLimit is how many attempts in a row, in 25 seconds, may fail for a
// reason that usually passes. If a run is overtaken more often, there are two
// writers, or the status was restored.
const passesLimit = 7

// requestTimeout is how long a request may take, a watch too. The API server
// ends a watch after 5 to 10 minutes, as the informer asks. But a server or
// proxy can accept a watch, and then never send or close anything: client-go
// would wait for it forever, and the cache would get no change.
const requestTimeout = 11 * time.Minute

// New returns a Controller. It starts nothing and sends no request. Each of its
// requests ends after config.Timeout, which is 11 minutes if it is not set.
func New(config *rest.Config, m *metrics.Metrics, o Options) (*Controller, error) {
	o.Workers = cmp.Or(o.Workers, 4)
	c := &Controller{
		options: o,
		metrics: m.Controller("agentrun"),
		secrets: new(redact.SecretValues),
	}
	c.measured = c.metrics.Runs()
	c.backoff = newBackoff()
	c.queue = kube.NewQueue[types.NamespacedName](c.metrics, c.backoff)
	c.shares = newShares(o.Workers, o.Namespaces)
	c.outage.single = len(o.Namespaces) == 1
	config = rest.CopyConfig(config)
	config.Timeout = cmp.Or(config.Timeout, requestTimeout)
	config.WarningHandlerWithContext = Warnings(c.mask)
	config.Wrap(sendOnce)
	config.Wrap(c.serverTime.Wrap)
	config.Wrap(kube.Transport(m))
	// A separate rate limiter: Events and reconciles never wait for each other.
	forEvents, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	// One limiter for Jobs and one for the status of runs, as
	// controller-runtime has one for each kind.
	limited := func() *rest.Config {
		each := rest.CopyConfig(config)
		if each.RateLimiter == nil && each.QPS > 0 {
			each.RateLimiter = kube.Limiter(m, flowcontrol.NewTokenBucketRateLimiter(each.QPS, each.Burst))
		}
		return each
	}
	c.cluster, err = kubernetes.NewForConfig(limited())
	if err != nil {
		return nil, err
	}
	c.runs, err = client.New(limited())
	if err != nil {
		return nil, err
	}
	c.status = status.ForResource(c.runs)
	c.status.Owned = []string{ready, progressing, degraded}
	c.status.FieldManager = "agentrun"
	c.status.Heartbeat = heartbeat
	c.status.OnCommit = c.metrics.StatusWrites()

	scheme := runtime.NewScheme()
	err = v1alpha1.AddToScheme(scheme)
	if err != nil {
		return nil, err
	}
	o.Events.Scheme = scheme
	o.Events.Redact = c.secrets.Redact
	o.Events.OnResult = c.metrics.Events()
	o.Events.DrainTimeout = cmp.Or(o.Events.DrainTimeout, drainTimeout)
	sink := events.NewSink(forEvents.EventsV1().Events, forEvents.CoreV1().Events)
	c.recorder, err = events.New(sink, Name, o.Events)
	if err != nil {
		return nil, err
	}
	c.metrics.SetWorkers(o.Workers)
	c.measured.Retention(o.Retention.Jobs.SucceededTTL, o.Retention.RunTTL, o.Retention.LogTTL)
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range o.Namespaces {
		s, err := c.newScope(namespace, config)
		if err != nil {
			return nil, err
		}
		c.scopes = append(c.scopes, s)
		kube.NewCache(m, "agentruns", s.runs)
		kube.NewCache(m, "jobs", s.jobs)
	}
	m.ObserveConditions("AgentRun", c.conditions) // last: a collection may come immediately
	return c, nil
}

// work reconciles runs from the queue until leading ends and the queue is shut
// down.
func (c *Controller) work(leading, ctx context.Context) {
	// controller-runtime's names, so that one log query finds the reconciles of
	// all controllers.
	log := logr.FromContextOrDiscard(ctx).WithValues(
		"controller", "agentrun",
		"controllerGroup", v1alpha1.GroupVersion().Group,
		"controllerKind", "AgentRun",
	)
	ctx = logr.NewContext(ctx, log)
	for {
		key, shutdown := c.queue.Get() //nolint:contextcheck // a queue has no context
		if shutdown {
			return
		}
		c.outage.wait(leading)
		if leading.Err() == nil { // a queue that is shut down still hands out what is ready
			c.processFairly(ctx, key)
		}
		c.queue.Done(key)
	}
}

// processFairly makes an attempt at one run, unless its namespace has its share
// of the workers. The run then waits, and the queue counts it as delayed.
func (c *Controller) processFairly(ctx context.Context, key types.NamespacedName) {
	if !c.shares.take(key, c.hasJob(key)) {
		c.queue.AddAfter(key, heartbeat)
		return
	}
	c.process(ctx, key)
	next, found := c.shares.leave(key.Namespace)
	if found {
		c.queue.AddFirst(next, 0)
	}
}

// process makes one attempt at one run, and queues it again for the next.
func (c *Controller) process(ctx context.Context, key types.NamespacedName) {
	after, err := c.reconcile(c.backoff.withRetryAfter(ctx, key), key)
	if err != nil {
		c.queue.AddRateLimited(key)
		return
	}
	c.outage.end()
	c.queue.Forget(key)
	if after > 0 {
		c.queue.AddAfter(key, after)
	}
}

// reconcile makes one attempt at one run, and traces, measures and logs it.
func (c *Controller) reconcile(
	ctx context.Context, key types.NamespacedName,
) (after time.Duration, err error) {
	log := logr.FromContextOrDiscard(ctx).
		WithValues("namespace", key.Namespace, "name", key.Name, "reconcileID", uuid.NewUUID())
	ctx, cancel := context.WithTimeout(logr.NewContext(ctx, log), attemptTimeout)
	defer cancel()
	defer recoverPanic(log, &err) // after the others, which note the panic
	var result metrics.Result
	named := trace.WithAttributes(
		attribute.String("k8s.namespace.name", key.Namespace),
		attribute.String("agentrun.name", key.Name),
	)
	ctx, attempt := c.metrics.BeginSpan(ctx, c.options.Tracer, "reconcile AgentRun", named)
	defer attempt.End(ctx, &result)

	after, err = c.step(ctx, key)
	result = metrics.Classify(err, after, events.IsTerminal)
	switch {
	case isOvertaken(err) && c.queue.NumRequeues(key) < passesLimit:
		result = metrics.Requeue
		logr.FromContextOrDiscard(ctx).V(1).
			Info("Run has changed since it was read, retrying", "why", c.mask(err.Error()))
	case err != nil:
		public := errors.New(c.mask(err.Error()))
		logr.FromContextOrDiscard(ctx).Error(public, "Reconcile failed", "result", result.String())
		span := trace.SpanFromContext(ctx)
		span.SetAttributes(attribute.String("error.type", reasonOf(err)))
		span.RecordError(public)
	}
	return after, err
}

// ReleaseHolds removes the finalizer of Options.Hold from every Job in the
// namespaces. Stop the controller, then call ReleaseHolds before you remove the
// controller and after you disable Options.Hold. You can call it again.
func (c *Controller) ReleaseHolds(ctx context.Context) (released int, err error) {
	var failed []error
	for _, s := range c.scopes {
		report, err := s.holds.ReleaseAll(ctx)
		released += report.Released
		failed = append(failed, err)
	}
	return released, errors.Join(failed...)
}
