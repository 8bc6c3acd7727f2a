// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller runs AgentRuns as Jobs. It is composed of the packages of controllerkit, and holds nothing that they settle.
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

// Name is this controller's, as events and managed fields carry it.
const Name = "agents.controllerkit.dev/agentrun"

// Options are what a Controller may be told. The zero value works.
type Options struct {
	// Namespaces whose runs are reconciled. None means all.
	Namespaces []string
	// Workers is how many runs are reconciled at once. Zero means 4.
	Workers int
	// Retention is how long Jobs and runs stay.
	Retention jobgc.Retention
	// Hold keeps Jobs that somebody deletes until their result is recorded, by a finalizer. Once it was true, ReleaseHolds is
	// the step before the controller is removed, and after Hold is turned off.
	Hold bool
	// OnHolds is told at the start and every hour how many Jobs are held in a namespace ("" for all), and since when the oldest
	// is. Nil means nobody is told.
	OnHolds func(namespace string, held int, oldest time.Duration)
	// Events are the recorder's options; Redact and Observe are set here.
	Events events.Options
	// Lead runs reconcile while this replica leads, and returns what ended that. The context it gives ends with the leadership, with
	// the cause ErrDeposed where another replica may lead already. Zero means that this replica leads from the start.
	Lead func(ctx context.Context, reconcile func(context.Context)) error
	// Tracer makes a span of each reconcile. Zero means none, at no cost.
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

	status   status.Writer[*v1alpha1.AgentRun]
	recorder *events.Recorder
	secrets  *redact.SecretValues
	metrics  *metrics.Controller
	config   *rest.Config
	outage   outage
	unsure   sync.Map // by the uid of a run whose end may be recorded and is not announced: ending

	synced chan struct{}
}

// ErrDeposed is why reconciling ended when the leadership was lost.
var ErrDeposed = errors.New("this replica no longer leads")

// heartbeat is how often the status of a run that is not terminal is written at least: a silent updatedAt is a stuck controller.
const heartbeat = 10 * time.Minute

// A pod has 30 seconds to end: what runs gets the first, the events that are waiting the second, even if the API server hangs. The
// program needs 7 more at the most, for the lease, the endpoint and its telemetry.
const (
	finishing = 7 * time.Second
	telling   = 15 * time.Second
)

// New makes a Controller; it starts nothing and makes no request.
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
	forEvents, err := kubernetes.NewForConfig(config) // its own rate limiter: events never queue behind reconciles, nor the other way round
	if err != nil {
		return nil, err
	}
	// One for what runs as Jobs, and one for the runs' status, as controller-runtime has it: one for each kind.
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
	c.queue = kube.NewQueue(c.metrics, workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](200*time.Millisecond, 30*time.Second))
	c.status = status.Writer[*v1alpha1.AgentRun]{
		Owned:        []string{ready, progressing, degraded},
		FieldManager: "agentrun",
		Heartbeat:    heartbeat,
		OnCommit:     c.metrics.StatusWrite,
	}
	o.Events.Redact, o.Events.Observe = c.secrets.Redact, c.metrics.Events
	if o.Events.Grace == 0 {
		o.Events.Grace = telling
	}
	if o.Events.Scheme, err = newScheme(); err != nil {
		return nil, err
	}
	sink := events.NewSink(forEvents.EventsV1().Events, forEvents.CoreV1().Events)
	if c.recorder, err = events.New(sink, Name, o.Events); err != nil {
		return nil, err
	}
	c.metrics.SetWorkers(o.Workers)
	ttl, _ := o.Retention.AtRelease(jobgc.Succeeded, time.Time{}, time.Time{})
	c.metrics.Retention(time.Duration(value(ttl))*time.Second, o.Retention.Runs, o.Retention.Logs)
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

// Synced is closed once the caches hold what the cluster has.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// Start keeps the caches filled and the recorder writing until ctx ends, and reconciles while this replica leads. Then it finishes what
// is running, writes the events that are waiting, and returns.
func (c *Controller) Start(ctx context.Context) error {
	// What runs when ctx ends still needs its requests and its events.
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	ctx, end := context.WithCancel(ctx) // also where the leadership ends first

	var informers, emitter sync.WaitGroup
	var lost, deposed error
	emitting, drain := context.WithCancel(context.WithoutCancel(ctx)) // it outlives stop: what is cut short is told too
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

// lead reconciles until leading ends. What runs then may go on for a grace, after which stop ends the context of the requests. There is none
// where the leadership was lost.
func (c *Controller) lead(leading, working context.Context, stop func()) {
	log := logr.FromContextOrDiscard(leading)
	// Only a leader follows what changes: the queue of another would fill with work that nobody does.
	for _, s := range c.scopes {
		if err := s.follow(c); err != nil {
			log.Error(err, "cannot follow the caches") // the informers were stopped: ctx has ended
			return
		}
	}
	var workers sync.WaitGroup
	if c.sync(leading, func(s *scope) []cache.InformerSynced { return s.followed }) {
		log.Info("reconciling", append([]any{"workers", c.options.Workers, "namespaces", c.options.Namespaces}, c.options.Retention.KeysAndValues()...)...)
		for _, warning := range c.options.Retention.Exposure(nil) {
			log.Info("check the retention settings", "warning", warning)
		}
		for range c.options.Workers {
			workers.Go(func() { c.work(working) })
		}
		c.sweep(leading, &workers)
		<-leading.Done()
	}
	if errors.Is(context.Cause(leading), ErrDeposed) {
		stop() // another replica may begin at any moment
	}
	deadline := time.AfterFunc(finishing, stop)
	defer deadline.Stop()
	c.queue.ShutDown()
	workers.Wait()
}

// sync waits for what is to be synced of each scope; false means that ctx ended first.
func (c *Controller) sync(ctx context.Context, of func(*scope) []cache.InformerSynced) bool {
	for _, s := range c.scopes {
		if !cache.WaitForCacheSync(ctx.Done(), of(s)...) {
			return false
		}
	}
	return true
}

// complain says every ten seconds, until ctx ends, why the caches are still empty: informers retry in silence when nobody answers.
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

// work takes runs from the queue until it is shut down.
func (c *Controller) work(ctx context.Context) {
	// The names are those of controller-runtime, so that one query of the logs finds the reconciles of all controllers.
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

// reconcile is one attempt at one run: traced, measured and logged.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (after time.Duration, err error) {
	log := logr.FromContextOrDiscard(ctx).WithValues("namespace", key.Namespace, "name", key.Name, "reconcileID", uuid.NewUUID())
	ctx, cancel := context.WithTimeout(logr.NewContext(ctx, log), time.Minute)
	defer cancel()
	var result metrics.Result
	ctx, end := c.span(ctx, key)
	defer func() { end(result, err) }()
	defer c.metrics.Begin().End(ctx, &result) // after the span began, whose trace the exemplar names

	after, err = c.step(ctx, key)
	switch {
	case errors.Is(err, errGone):
		err = nil
	case isOvertaken(err):
		logr.FromContextOrDiscard(ctx).V(1).Info("overtaken, will look again", "why", err.Error())
		after, err = time.Second, nil
	}
	result = metrics.Classify(err, after, events.Terminal)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(errors.New(c.secrets.Redact(err.Error())), "reconcile failed", "result", result.String())
	}
	return after, err
}
