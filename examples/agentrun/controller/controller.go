// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller runs AgentRuns as Jobs. It is composed of the packages of
// controllerkit.
package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/status"
)

// Name is the name of this controller in Events and managed fields.
const Name = "agents.controllerkit.dev/agentrun"

// Options configure a Controller. The zero value works.
type Options struct {
	// Namespaces whose runs are reconciled. None means all.
	Namespaces []string
	// Selector is the label selector of the runs that are reconciled. Empty
	// means all.
	Selector string
	// Workers is the number of concurrent reconciles. Zero means 4.
	Workers int
	// Retention is how long Jobs and runs stay.
	Retention jobgc.Retention
	// Hold keeps each Job until its result is recorded, by a finalizer. After
	// Hold was true, call ReleaseHolds before the controller is removed, and
	// after Hold is disabled.
	Hold bool
	// OnHolds, if set, is called at the start and every hour with the number of
	// held Jobs in a namespace ("" for all) and the age of the oldest one.
	OnHolds func(namespace string, held int, oldest time.Duration)
	// Events are the recorder's options. New sets Redact and OnResult.
	Events events.Options
	// Lead runs reconcile while this replica leads, and returns why that ended.
	// It passes a context that ends with the leadership. The cause is
	// ErrDeposed if another replica may already lead. Nil means that this
	// replica leads from the start.
	Lead func(ctx context.Context, reconcile func(context.Context)) error
	// Tracer makes a span of each reconcile. Nil means no spans, at no cost.
	Tracer trace.Tracer

	_ struct{}
}

// Controller reconciles AgentRuns. Make one with New.
type Controller struct {
	options Options
	cluster kubernetes.Interface
	runs    func(namespace string) *Client
	scopes  []*scope
	queue   *kube.Queue[types.NamespacedName]

	status   status.Writer
	recorder *events.Recorder
	secrets  *redact.SecretValues
	metrics  *metrics.Controller
	measured *metrics.Runs
	config   *rest.Config
	outage   outage
	unsure   sync.Map // by the uid of a run whose end may be recorded and is not announced: ending

	synced chan struct{}
}

// ErrDeposed is the cause when reconciling ended because the leadership was
// lost.
var ErrDeposed = errors.New("this replica no longer leads")

// heartbeat is the longest time between two status writes of a run that is not
// terminal. An updatedAt that stops moving means a stuck controller.
const heartbeat = 10 * time.Minute

// A pod has 30 seconds to end. Running reconciles get the first part and queued
// Events the second, even if the API server hangs. The program needs at most 7
// more seconds for the lease, the endpoint and its telemetry.
const (
	finishing = 7 * time.Second
	telling   = 15 * time.Second
)

// New returns a Controller. It starts nothing and sends no request.
func New(config *rest.Config, m *metrics.Metrics, o Options) (*Controller, error) {
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.Lead == nil {
		o.Lead = func(ctx context.Context, reconcile func(context.Context)) error {
			reconcile(ctx)
			return nil
		}
	}
	config = rest.CopyConfig(config)
	config.Wrap(kube.Transport(m))
	forEvents, err := kubernetes.NewForConfig(config) // a separate rate limiter: Events and reconciles never wait for each other
	if err != nil {
		return nil, err
	}
	// One client for Jobs and one for the status of runs, as controller-runtime
	// has one for each kind.
	limited := func() *rest.Config {
		each := rest.CopyConfig(config)
		if each.RateLimiter == nil && each.QPS > 0 {
			each.RateLimiter = kube.Limiter(m, flowcontrol.NewTokenBucketRateLimiter(each.QPS, each.Burst))
		}
		return each
	}
	cluster, err := kubernetes.NewForConfig(limited())
	if err != nil {
		return nil, err
	}
	runs, err := NewClient(limited())
	if err != nil {
		return nil, err
	}
	c := &Controller{
		options: o,
		config:  config,
		cluster: cluster,
		runs:    runs,
		metrics: m.Controller("agentrun"),
		secrets: new(redact.SecretValues),
		synced:  make(chan struct{}),
	}
	c.measured = c.metrics.Runs()
	c.queue = kube.NewQueue(c.metrics, workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](200*time.Millisecond, 30*time.Second))
	c.status = status.ForResource(runs)
	c.status.Owned = []string{ready, progressing, degraded}
	c.status.FieldManager, c.status.Heartbeat, c.status.OnCommit = "agentrun", heartbeat, c.metrics.StatusWrites()
	o.Events.Redact, o.Events.OnResult = c.secrets.Redact, c.metrics.Events()
	if o.Events.DrainTimeout == 0 {
		o.Events.DrainTimeout = telling
	}
	if o.Events.Scheme, err = newScheme(); err != nil {
		return nil, err
	}
	sink := events.NewSink(forEvents.EventsV1().Events, forEvents.CoreV1().Events)
	if c.recorder, err = events.New(sink, Name, o.Events); err != nil {
		return nil, err
	}
	c.metrics.SetWorkers(o.Workers)
	c.measured.Retention(o.Retention.SucceededTTL, o.Retention.RunTTL, o.Retention.LogTTL)
	namespaces := o.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for i, namespace := range namespaces {
		if slices.Contains(namespaces[:i], namespace) {
			return nil, fmt.Errorf("the namespace %q is there twice; want each once", namespace)
		}
		s, err := c.newScope(namespace)
		if err != nil {
			return nil, err
		}
		c.scopes = append(c.scopes, s)
	}
	m.ObserveConditions("AgentRun", c.conditions)
	return c, nil
}

// Synced is closed when the caches are filled.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// Start fills the caches and runs the recorder until ctx ends, and reconciles
// while this replica leads. Then it finishes the running reconciles, writes the
// queued Events, and returns.
func (c *Controller) Start(ctx context.Context) error {
	// A reconcile that runs when ctx ends still sends requests and Events.
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	ctx, end := context.WithCancel(ctx) // also if the leadership ends first

	var informers, emitter sync.WaitGroup
	var lost, deposed error
	emitting, drain := context.WithCancel(context.WithoutCancel(ctx)) // it ends after stop, so that interrupted reconciles are recorded too
	defer drain()
	emitter.Go(func() { lost = c.recorder.Start(emitting) })
	for _, s := range c.scopes {
		informers.Go(func() { s.runs.RunWithContext(ctx) })
		informers.Go(func() { s.jobs.RunWithContext(ctx) })
	}
	defer informers.Wait()
	defer end()

	waiting, found := context.WithCancel(ctx)
	informers.Go(func() { c.complain(waiting) })
	synced := c.sync(ctx, func(s *scope) []cache.InformerSynced {
		return []cache.InformerSynced{s.runs.HasSynced, s.jobs.HasSynced}
	})
	found()
	if synced {
		close(c.synced)
		deposed = c.options.Lead(ctx, func(leading context.Context) { c.lead(leading, working, stop) })
	}
	drain()
	emitter.Wait()
	if lost != nil {
		lost = fmt.Errorf("stopped, but not every event was written: %w", lost)
	}
	return errors.Join(deposed, lost)
}

// lead reconciles until leading ends. Running reconciles then have a grace
// period, after which stop ends the context of their requests. There is no
// grace period if the leadership was lost.
func (c *Controller) lead(leading, working context.Context, stop func()) {
	log := logr.FromContextOrDiscard(leading)
	// Only a leader queues changes: another replica would fill its queue and
	// never work on it.
	for _, s := range c.scopes {
		if err := s.follow(c); err != nil {
			log.Error(err, "cannot follow the caches") // the informers were stopped: ctx has ended
			return
		}
	}
	var workers sync.WaitGroup
	if c.sync(leading, func(s *scope) []cache.InformerSynced { return s.followed }) {
		log.Info("reconciling", append([]any{"workers", c.options.Workers, "namespaces", c.options.Namespaces}, c.options.Retention.LogValues()...)...)
		for _, warning := range c.options.Retention.Warnings(nil) {
			log.Info("check the retention settings", "warning", warning)
		}
		for range c.options.Workers {
			workers.Go(func() { c.work(working) })
		}
		c.sweep(leading, &workers)
		<-leading.Done()
	}
	if errors.Is(context.Cause(leading), ErrDeposed) {
		stop() // another replica may start at any moment
	}
	deadline := time.AfterFunc(finishing, stop)
	defer deadline.Stop()
	c.queue.ShutDown()
	workers.Wait()
}

// sync waits until the caches of each scope are filled. It returns false if ctx
// ends first.
func (c *Controller) sync(ctx context.Context, of func(*scope) []cache.InformerSynced) bool {
	for _, s := range c.scopes {
		if !cache.WaitForCacheSync(ctx.Done(), of(s)...) {
			return false
		}
	}
	return true
}

// complain logs every ten seconds, until ctx ends, why the caches are still
// empty, because informers retry without an error if no server answers.
func (c *Controller) complain(ctx context.Context) {
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := c.runs(c.scopes[0].namespace).List(asking, metav1.ListOptions{Limit: 1})
		cancel()
		if err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "AgentRuns cannot be listed yet, trying on")
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
	}
}

// work reconciles runs from the queue until the queue is shut down.
func (c *Controller) work(ctx context.Context) {
	// controller-runtime's names, so that one log query finds the reconciles of
	// all controllers.
	ctx = logr.NewContext(ctx, logr.FromContextOrDiscard(ctx).WithValues(
		"controller", "agentrun", "controllerGroup", v1alpha1.GroupVersion().Group, "controllerKind", "AgentRun"))
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		after, err := c.reconcile(ctx, key)
		if err != nil {
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
			if after > 0 {
				c.queue.AddAfter(key, after)
			}
		}
		c.queue.Done(key)
	}
}

// reconcile makes one attempt at one run, and traces, measures and logs it.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (after time.Duration, err error) {
	log := logr.FromContextOrDiscard(ctx).WithValues("namespace", key.Namespace, "name", key.Name, "reconcileID", uuid.NewUUID())
	ctx, cancel := context.WithTimeout(logr.NewContext(ctx, log), time.Minute)
	defer cancel()
	var result metrics.Result
	ctx, end := c.span(ctx, key)
	defer func() { end(result, err) }()
	defer c.metrics.Begin().End(ctx, &result) // after the span, because the exemplar names its trace

	after, err = c.step(ctx, key)
	switch {
	case errors.Is(err, errGone):
		err = nil
	case isOvertaken(err):
		logr.FromContextOrDiscard(ctx).V(1).Info("overtaken, will look again", "why", err.Error())
		after, err = time.Second, nil
	}
	result = metrics.Classify(err, after, events.IsTerminal)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(errors.New(c.secrets.Redact(err.Error())), "reconcile failed", "result", result.String())
	}
	return after, err
}
