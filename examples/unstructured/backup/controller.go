// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup runs Backups as Jobs on client-go's dynamic client: no Go types, no generated code, and the field names that the CRD
// has had for years.
package backup

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/status"
)

// Controller runs Backups as Jobs.
type Controller struct {
	backups   dynamic.NamespaceableResourceInterface
	informers []cache.SharedIndexInformer
	queue     *kube.Queue[types.NamespacedName]
	jobs      *jobgc.Guard[batchclient.JobInterface]
	status    status.Writer[*unstructured.Unstructured]
	events    *events.Recorder
	metrics   *metrics.Controller
}

// New starts nothing.
func New(dyn dynamic.Interface, cs kubernetes.Interface, m *metrics.Metrics) (*Controller, error) {
	c := &Controller{backups: dyn.Resource(backups), metrics: m.Controller("backup")}
	c.queue = kube.NewQueue[types.NamespacedName](c.metrics, nil)
	c.status = status.Writer[*unstructured.Unstructured]{Names: names, OnCommit: c.metrics.StatusWrite}

	ofBackups := dynamicinformer.NewFilteredDynamicInformer(dyn, backups, metav1.NamespaceAll, 0, nil, nil).Informer()
	ofJobs := batchinformers.NewJobInformer(cs, metav1.NamespaceAll, 0, nil)
	c.informers = []cache.SharedIndexInformer{ofBackups, ofJobs}
	var err, ofEvents error
	c.jobs, err = jobgc.New(cs.BatchV1().Jobs, ofJobs, jobgc.Options{})
	sink := events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
	c.events, ofEvents = events.New(sink, "backups.example.org/controller", events.Options{Observe: c.metrics.Events}) // their objects carry their kind
	if err = errors.Join(err, ofEvents); err != nil {
		return nil, err
	}
	_, err = ofBackups.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.enqueue,
		UpdateFunc: func(was, is any) {
			before, ok1 := was.(metav1.Object)
			after, ok2 := is.(metav1.Object)
			if ok1 && ok2 && status.Concerns(before, after) {
				c.enqueue(is)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	_, err = ofJobs.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { c.jobs.OnAdd(obj, initial); c.enqueueOwner(obj) },
		UpdateFunc: func(was, is any) { c.jobs.OnUpdate(was, is); c.enqueueOwner(is) },
		DeleteFunc: func(obj any) { c.jobs.OnDelete(obj); c.enqueueOwner(obj) }, // the guard first
	})
	return c, err
}

func (c *Controller) enqueue(obj any) {
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

// Start works until ctx ends, and returns when all it started has ended.
func (c *Controller) Start(ctx context.Context) error {
	var recording, working sync.WaitGroup
	var lost error
	telling, told := context.WithCancel(context.WithoutCancel(ctx)) // the last Events are still written
	defer told()
	recording.Go(func() { lost = c.events.Start(telling) })
	for _, informer := range c.informers {
		working.Go(func() { informer.RunWithContext(ctx) })
	}
	working.Go(func() { c.work(ctx) })
	<-ctx.Done()
	c.queue.ShutDown()
	working.Wait()
	told()
	recording.Wait()
	return lost
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

func (c *Controller) measured(ctx context.Context, key types.NamespacedName) (after time.Duration, err error) {
	var result metrics.Result
	defer c.metrics.Begin().End(ctx, &result)
	after, err = c.reconcile(ctx, key)
	result = metrics.Classify(err, after, events.Terminal)
	return after, err
}

// reconcile takes the Backup as far as it can go now. It reads live, so that it never begins with what it has just changed; each
// step is recorded before the next one relies on it.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	client := c.backups.Namespace(key.Namespace)
	u, err := client.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	for err == nil && u.GetDeletionTimestamp() == nil {
		before := u.DeepCopy()
		found, failure := c.step(ctx, u)
		var result status.Result
		if failure == nil {
			result, failure = c.status.Commit(ctx, client.Patch, before, u, facts(u, found))
		}
		if failure == nil && result == status.Written && found.Lost() && refOf(before).Outcome == "" { // told once: it is recorded
			c.metrics.JobMissing()
			c.events.Eventf(u, nil, corev1.EventTypeWarning, "JobLost", "Look", found.Message)
		}
		c.events.Failure(before, failure) // also that the status could not be written
		if failure != nil || result == status.Unchanged || result == status.Gone {
			return found.After, failure
		}
	}
	return 0, err
}

// step makes one move.
func (c *Controller) step(ctx context.Context, u *unstructured.Unstructured) (found jobgc.Finding, err error) {
	ref, job := refOf(u), newJob(u)
	switch {
	case ref.Name == "": // the intent is recorded before the Job is created
		return found, errors.Join(keep(u, jobgc.Ref{Name: job.Name}), enter(u, created, ""))
	case ref.UID == "":
		if ref, err = c.jobs.Ensure(ctx, ref, job); err == nil {
			err = keep(u, ref)
		}
		return found, err
	}
	found, err = c.jobs.Look(ctx, ref)
	switch {
	case err != nil, found.State == jobgc.Pending:
		return found, err
	case ref.Outcome != "": // recorded: the Job may go
		if found.State != jobgc.Finished {
			return found, nil
		}
		return found, c.jobs.Release(ctx, ref, found, jobgc.Retention{Succeeded: new(10 * time.Minute)})
	case found.Lost():
		return found, enter(u, failed, "the Job is lost: "+found.Message)
	case found.Outcome == jobgc.Succeeded:
		return found, enter(u, completed, "")
	case found.Outcome == jobgc.Failed:
		return found, enter(u, failed, found.Message)
	case !found.StartedAt.IsZero():
		return found, enter(u, inProgress, "")
	}
	return found, nil
}
