// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/gentype"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/status"
)

const (
	workers = 4
	resync  = 10 * time.Hour // then every object is looked at again, as with controller-runtime
)

// controller runs each Report as a Job.
type controller struct {
	reports func(namespace string) *gentype.Client[*Report]
	cached  cache.SharedIndexInformer // of the Reports
	ofJobs  cache.SharedIndexInformer
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]
	jobs    *jobgc.Guard
	writer  status.Writer
	events  *events.Recorder
	metrics *metrics.Controller
	runs    *metrics.Runs
}

// newController returns a controller. It sends no request. Its queue has to be
// shut down.
func newController(config *rest.Config, m *metrics.Metrics) (*controller, error) {
	client, scheme, err := newClient(config)
	if err != nil {
		return nil, err
	}
	cluster, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &controller{metrics: m.Controller("report")}
	c.runs = c.metrics.Runs()
	parameters := runtime.NewParameterCodec(scheme)
	c.reports = func(namespace string) *gentype.Client[*Report] {
		newReport := func() *Report { return new(Report) }
		return gentype.NewClient("reports", client, parameters, namespace, newReport)
	}
	c.writer = status.ForResource(c.reports)
	c.writer.Owned = []string{"Ready"}
	c.writer.Redact = redact.Text // the text of an error may have a password
	c.writer.OnCommit = c.metrics.StatusWrites()

	sink := events.NewSink(cluster.EventsV1().Events, cluster.CoreV1().Events)
	options := events.Options{Scheme: scheme, OnResult: c.metrics.Events()}
	c.events, err = events.New(sink, "service.example.com/report", options)
	if err != nil {
		return nil, err
	}

	all := cache.NewListWatchFromClient(client, "reports", metav1.NamespaceAll, fields.Everything())
	c.cached = cache.NewSharedIndexInformer(all, &Report{}, resync, nil)
	c.ofJobs = batchinformers.NewJobInformer(cluster, metav1.NamespaceAll, resync, nil)
	cached := jobgc.FromLister(batchlisters.NewJobLister(c.ofJobs.GetIndexer()))
	keep := jobgc.Options{
		Retention: jobgc.Retention{SucceededTTL: 10 * time.Minute, FailedTTL: 24 * time.Hour},
		Finalizer: finalizer,
	}
	c.jobs, err = jobgc.New(cluster.BatchV1().Jobs, cached, keep)
	if err != nil {
		return nil, err
	}
	// The controller's own writes count too: when the end of a Report is stored,
	// its Job may go.
	changes := cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, is any) { c.enqueue(is) },
		DeleteFunc: c.enqueue,
	}
	_, err1 := c.cached.AddEventHandler(changes)
	_, err2 := c.ofJobs.AddEventHandler(changes)
	queues, err3 := kube.QueueProvider(c.metrics)
	err = errors.Join(err1, err2, err3)
	if err != nil {
		return nil, err
	}
	named := workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: "report", MetricsProvider: queues}
	limiter := workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()
	c.queue = workqueue.NewTypedRateLimitingQueueWithConfig(limiter, named)
	return c, nil
}

// enqueue puts a Report, or the Report that owns a Job, into the queue.
func (c *controller) enqueue(obj any) {
	gone, ok := obj.(cache.DeletedFinalStateUnknown)
	if ok {
		obj = gone.Obj
	}
	switch o := obj.(type) {
	case *Report:
		c.queue.Add(cache.MetaObjectToName(o))
	case *batchv1.Job:
		owner := metav1.GetControllerOf(o)
		if owner != nil && owner.Kind == "Report" && owner.APIVersion == groupVersion.String() {
			c.queue.Add(cache.NewObjectName(o.Namespace, owner.Name))
		}
	}
}

// synced reports whether the Reports and the Jobs have been read.
func (c *controller) synced() bool { return c.cached.HasSynced() && c.ofJobs.HasSynced() }

// work reconciles until ctx ends. It returns when its workers have ended.
func (c *controller) work(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.synced) {
		return
	}
	c.metrics.SetWorkers(workers)
	_, err := c.cached.AddEventHandler(c.running()) // by the leader: a standby has the same cache
	if err != nil {
		return // the informer has ended
	}
	var working sync.WaitGroup
	working.Go(func() {
		err := c.releaseOrphans(ctx)
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "Jobs of deleted Reports stay held")
		}
	})
	for range workers {
		working.Go(func() { c.processQueue(ctx) })
	}
	<-ctx.Done()
	c.queue.ShutDown()
	working.Wait()
}

// running counts the Reports in flight by what the cache sees.
func (c *controller) running() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.runs.Active(isRunning(obj)) },
		UpdateFunc: func(was, is any) { c.runs.Active(isRunning(is) - isRunning(was)) },
		DeleteFunc: func(obj any) { c.runs.Active(-isRunning(obj)) },
	}
}

// isRunning is 1 for a Report in flight, otherwise 0.
func isRunning(obj any) int {
	gone, ok := obj.(cache.DeletedFinalStateUnknown)
	if ok {
		obj = gone.Obj
	}
	report, ok := obj.(*Report)
	if ok && report.Status.Phase == Running {
		return 1
	}
	return 0
}

func (c *controller) processQueue(ctx context.Context) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown || ctx.Err() != nil {
			return
		}
		after, err := c.measured(ctx, key)
		if err != nil {
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		if after > 0 {
			c.queue.AddAfter(key, after)
		}
		c.queue.Done(key)
	}
}

// measured is one attempt, with its metrics, and a log line if it fails.
func (c *controller) measured(
	ctx context.Context, key cache.ObjectName,
) (after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // jobgc takes up to 90 seconds
	defer cancel()
	ctx, done := c.metrics.Begin(ctx, key)
	defer done(&err, &after)
	after, err = c.reconcile(ctx, key)
	if err != nil {
		text := redact.Text(err.Error())
		logr.FromContextOrDiscard(ctx).Error(nil, "Reconcile failed", "report", key.String(), "error", text)
	}
	return after, err
}

// reconcile takes a Report as far as it can go now.
func (c *controller) reconcile(ctx context.Context, key cache.ObjectName) (time.Duration, error) {
	item, found, err := c.cached.GetStore().GetByKey(key.String())
	if err != nil || !found {
		return 0, err
	}
	before, ok := item.(*Report)
	if !ok || before.DeletionTimestamp != nil { // releaseOrphans lets its Job go with it
		return 0, nil
	}
	report := before.DeepCopy()
	ref, job, err := c.jobs.Step(ctx, jobgc.Request{
		Owner: report, Ref: report.Status.Job, Done: report.done(),
		Job: func() (*batchv1.Job, error) { return report.newJob(), nil },
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			live, err := c.reports(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
			return live, live.Status.Job, live.done(), err
		},
	})
	report.Status.Job = ref
	switch {
	case before.done(): // its phase and its condition stay
	case err != nil:
		report.hinder(err)
	default:
		report.enter(job)
	}
	facts := status.Facts{
		Progress: progress[report.Status.Phase], StartedAt: job.StartedAt, FinishedAt: job.FinishedAt,
	}
	result, unwritten := c.writer.Commit(ctx, before, report, facts)
	if err == nil && errors.Is(unwritten, status.ErrStaleRead) {
		return 200 * time.Millisecond, nil // the cache has not seen the last write
	}
	err = errors.Join(err, unwritten)
	switch {
	case before.done():
	case report.done() && result == status.Written:
		c.ended(ctx, report, job)
	default:
		c.events.Failure(report, err) // a Warning; nil is the recovery
	}
	return job.After, err
}

// ended counts a Report whose end is recorded. A Warning says why it failed.
func (c *controller) ended(ctx context.Context, report *Report, job jobgc.Observation) {
	result := metrics.Success
	var failure error
	ready := apimeta.FindStatusCondition(report.Status.Conditions, "Ready")
	if report.Status.Phase == Failed {
		result = metrics.TerminalError
		failure = errors.New(ready.Message)
	}
	c.events.FailureReason(report, ready.Reason, failure)
	if job.Lost() {
		c.runs.JobMissing()
	}
	took := time.Duration(-1) // it never started
	times := report.Status.Stamp
	if times.StartedAt != nil && times.FinishedAt != nil {
		took = times.FinishedAt.Sub(times.StartedAt.Time)
	}
	c.runs.End(ctx, took, result)
}
