// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup runs Backups as Jobs on client-go's dynamic client. It has no
// Go types and no generated code, and uses the CRD's field names.
package backup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/status"
)

// staleDelay is when a Backup is read again that has changed since it was read.
const staleDelay = 200 * time.Millisecond

// Controller runs Backups as Jobs.
type Controller struct {
	backups   dynamic.NamespaceableResourceInterface
	stored    cache.Store                          // of the Backups, as of the last watch event
	informers map[string]cache.SharedIndexInformer // by resource
	queue     workqueue.TypedRateLimitingInterface[types.NamespacedName]
	jobs      *jobgc.Guard
	status    status.Writer
	events    *events.Recorder
	all       *metrics.Metrics
	metrics   *metrics.Controller
	runs      *metrics.Runs
}

// New returns a Controller, which writes Events with eventsClient. It starts
// nothing.
func New(
	dyn dynamic.Interface, cs, eventsClient kubernetes.Interface, m *metrics.Metrics,
) (*Controller, error) {
	c := &Controller{backups: dyn.Resource(backups), all: m, metrics: m.Controller("backup")}
	c.runs = c.metrics.Runs()
	c.status = status.ForResource(c.backups.Namespace)
	c.status.FieldNames = names
	c.status.OnCommit = c.metrics.StatusWrites()

	all := dynamicinformer.NewFilteredDynamicInformer(dyn, backups, metav1.NamespaceAll, 0, nil, nil)
	ofBackups := all.Informer()
	ofJobs := batchinformers.NewJobInformer(cs, metav1.NamespaceAll, 0, nil)
	c.stored = ofBackups.GetStore()
	c.informers = map[string]cache.SharedIndexInformer{"backups": ofBackups, "jobs": ofJobs}
	cached := jobgc.FromLister(batchlisters.NewJobLister(ofJobs.GetIndexer()))
	keep := jobgc.Options{Retention: jobgc.Retention{SucceededTTL: 10 * time.Minute}}
	var err error
	c.jobs, err = jobgc.New(cs.BatchV1().Jobs, cached, keep)
	if err != nil {
		return nil, err
	}
	sink := events.NewSink(eventsClient.EventsV1().Events, eventsClient.CoreV1().Events)
	options := events.Options{OnResult: c.metrics.Events()} // no Scheme: unstructured objects have their kind
	c.events, err = events.New(sink, "backups.example.org/controller", options)
	if err != nil {
		return nil, err
	}
	_, err = ofBackups.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.enqueue,
		UpdateFunc: func(was, is any) {
			before, ok1 := was.(metav1.Object)
			after, ok2 := is.(metav1.Object)
			if ok1 && ok2 && status.NeedsReconcile(before, after) {
				c.enqueue(is)
			}
		},
		DeleteFunc: c.enqueue, // a Backup that is gone does not fail any longer
	})
	if err != nil {
		return nil, err
	}
	_, err = ofJobs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueueOwner,
		UpdateFunc: func(_, is any) { c.enqueueOwner(is) },
		DeleteFunc: c.enqueueOwner,
	})
	if err != nil {
		return nil, err
	}
	queues, err := kube.QueueProvider(c.metrics)
	if err != nil {
		return nil, err
	}
	config := workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{
		Name: "backup", MetricsProvider: queues,
	}
	limiter := workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()
	c.queue = workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config) // until Start has ended
	return c, nil
}

func (c *Controller) enqueue(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if o, ok := obj.(metav1.Object); ok {
		c.queue.Add(types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
	}
}

func (c *Controller) enqueueOwner(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if job, ok := obj.(metav1.Object); ok {
		if owner := metav1.GetControllerOf(job); owner != nil && owner.Kind == "Backup" {
			c.queue.Add(types.NamespacedName{Namespace: job.GetNamespace(), Name: owner.Name})
		}
	}
}

// Start works until ctx ends. It returns when everything it started has ended.
func (c *Controller) Start(ctx context.Context) error {
	return c.events.RunWith(ctx, func(ctx context.Context) error { // the last Events are still written
		var working sync.WaitGroup
		for resource, informer := range c.informers {
			kube.NewCache(c.all, resource, informer) // the alert ControllerCacheStale
			working.Go(func() { informer.RunWithContext(ctx) })
		}
		working.Go(func() {
			if cache.WaitForCacheSync(ctx.Done(), c.Synced) {
				c.work(ctx)
			}
		})
		<-ctx.Done()
		c.queue.ShutDown()
		working.Wait()
		return nil
	})
}

// Synced reports whether the Backups and the Jobs have been read.
func (c *Controller) Synced() bool {
	for _, informer := range c.informers {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

func (c *Controller) work(ctx context.Context) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		switch after, err := c.measured(ctx, key); {
		case err != nil:
			c.queue.AddRateLimited(key)
		default:
			c.queue.Forget(key)
			if after > 0 {
				c.queue.AddAfter(key, after)
			}
		}
		c.queue.Done(key)
	}
}

func (c *Controller) measured(
	ctx context.Context, key types.NamespacedName,
) (after time.Duration, err error) {
	ctx, done := c.metrics.Begin(ctx, key)
	defer done(&err, &after)
	after, err = c.reconcile(ctx, key)
	reason, _ := events.Classify(err)
	switch {
	case reason == events.Conflict: // another writer was faster, or the copy was too old
		log := klog.FromContext(ctx).V(1)
		log.Info("Backup has changed since it was read, retrying", "backup", key, "why", err.Error())
		return staleDelay, nil
	case err != nil:
		klog.FromContext(ctx).Error(err, "Reconcile failed", "backup", key)
	}
	return after, err
}

// reconcile makes steps until it has to wait. Each step is stored before the
// next one begins. The copy in the cache may be older than the last write of
// this controller: then jobgc reads live before it creates, Commit refuses to
// write, and the queue tries again.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	u, found, err := c.copyOf(key)
	if err != nil || !found {
		return 0, err
	}
	for u.GetDeletionTimestamp() == nil {
		before := u.DeepCopy()
		found, failure := c.step(ctx, u)
		if failure == nil && found.State == jobgc.Pending && refOf(u) == nil {
			return found.After, nil // nothing is known yet
		}
		var result status.Result
		if failure == nil {
			result, failure = c.status.Commit(ctx, before, u, facts(u, found))
		}
		if failure == nil && result == status.Written {
			c.reportLost(before, u, found)
		}
		c.events.Failure(before, failure) // also if the status could not be written
		if failure != nil || result == status.Unchanged || result == status.Gone {
			return found.After, failure
		}
	}
	return 0, nil
}

// copyOf returns a copy of the Backup in the cache.
func (c *Controller) copyOf(key types.NamespacedName) (u *unstructured.Unstructured, found bool, err error) {
	item, found, err := c.stored.GetByKey(key.String())
	if err != nil || !found {
		return nil, false, err
	}
	cached, ok := item.(*unstructured.Unstructured)
	if !ok {
		return nil, false, fmt.Errorf("%s: the cache has a %T", key, item)
	}
	return cached.DeepCopy(), true, nil
}

// reportLost counts a lost Job and records an Event, once: afterwards before is
// done.
func (c *Controller) reportLost(before, u *unstructured.Unstructured, found jobgc.Observation) {
	if !found.Lost() || done(before) {
		return
	}
	c.runs.JobMissing()
	c.events.Eventf(u, nil, corev1.EventTypeWarning, "JobLost", "Inspect", "%s", found.Message)
}

// step makes one change.
func (c *Controller) step(ctx context.Context, u *unstructured.Unstructured) (jobgc.Observation, error) {
	ref, found, err := c.jobs.Step(ctx, jobgc.Request{
		Owner: u, Ref: refOf(u), Done: done(u),
		Job: func() (*batchv1.Job, error) { return newJob(u), nil },
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			live, err := c.backups.Namespace(u.GetNamespace()).Get(ctx, u.GetName(), metav1.GetOptions{})
			if err != nil {
				return nil, nil, false, err
			}
			return live, refOf(live), done(live), nil
		},
	})
	if err != nil || done(u) || ref == nil {
		return found, err
	}
	err = keep(u, *ref)
	switch {
	case found.Lost():
		err = errors.Join(err, enter(u, failed, "the Job is lost: "+found.Message))
	case found.Outcome == jobgc.Succeeded:
		err = errors.Join(err, enter(u, completed, ""))
	case found.Outcome == jobgc.Failed:
		err = errors.Join(err, enter(u, failed, found.Message))
	case !found.StartedAt.IsZero():
		err = errors.Join(err, enter(u, inProgress, ""))
	case phaseOf(u) == "":
		err = errors.Join(err, enter(u, created, ""))
	}
	return found, err
}
