// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// reporter is the part of the service that uses controllerkit. It reports
// failed Jobs with an Event, a log line and a count.
type reporter struct {
	jobs    cache.SharedIndexInformer
	queue   *kube.Queue[string]
	events  *events.Recorder
	metrics *metrics.Controller
	tracer  trace.Tracer
	since   time.Time // the previous process has reported earlier failures
}

// overlap is the longest restart. Failures in this time may be reported twice,
// but never lost.
const overlap = 2 * time.Minute

// newReporter uses the service's clients and providers. It writes Events with
// eventsClient. It starts nothing, opens no port and changes no global.
func newReporter(
	cs, eventsClient kubernetes.Interface, meters metric.MeterProvider, traces trace.TracerProvider,
) (*reporter, error) {
	m, err := metrics.New(meters, metrics.Options{})
	if err != nil {
		return nil, err
	}
	r := &reporter{metrics: m.Controller("reporter"), tracer: traces.Tracer("reporter")}
	r.queue = kube.NewQueue(r.metrics, workqueue.DefaultTypedControllerRateLimiter[string]())
	sink := events.NewSink(eventsClient.EventsV1().Events, eventsClient.CoreV1().Events)
	options := events.Options{Scheme: scheme.Scheme, OnResult: r.metrics.Events()}
	r.events, err = events.New(sink, "service.example.com/reporter", options)
	if err != nil {
		return nil, err
	}
	r.jobs = batchinformers.NewJobInformer(cs, metav1.NamespaceAll, 0, nil)
	add := func(obj any) {
		key, err := cache.MetaNamespaceKeyFunc(obj)
		if err == nil {
			r.queue.Add(key)
		}
	}
	update := func(was, is any) {
		if stateOf(was) != stateOf(is) { // a failure is reported once, not at each later change
			add(is)
		}
	}
	_, err = r.jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: update,
		DeleteFunc: r.forget,
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// state is which Job an object is, and how it has ended.
type state struct {
	uid     types.UID
	outcome jobgc.Outcome
}

func stateOf(obj any) state {
	job, ok := obj.(*batchv1.Job)
	if !ok {
		return state{}
	}
	return state{job.UID, jobgc.StateOf(job).Outcome}
}

// forget drops the recorder's state of a deleted Job.
func (r *reporter) forget(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if job, ok := obj.(*batchv1.Job); ok {
		r.events.Forget(job)
	}
}

// Start works until ctx ends. It returns when everything it started has ended
// and the last Events are written. It logs to the logger in ctx.
func (r *reporter) Start(ctx context.Context) error {
	r.since = time.Now().Add(-overlap)
	var recording, working sync.WaitGroup
	var lost error
	// The Events of the last Jobs are still written.
	recordingCtx, stopRecording := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRecording()
	recording.Go(func() { lost = r.events.Start(recordingCtx) })
	working.Go(func() { r.jobs.RunWithContext(ctx) })
	working.Go(func() { r.work(ctx) })
	<-ctx.Done()
	r.queue.ShutDown()
	working.Wait()
	stopRecording()
	recording.Wait()
	return lost
}

func (r *reporter) work(ctx context.Context) {
	for {
		key, shutdown := r.queue.Get()
		if shutdown {
			return
		}
		if err := r.reconcile(ctx, key); err != nil {
			r.queue.AddRateLimited(key)
		} else {
			r.queue.Forget(key)
		}
		r.queue.Done(key)
	}
}

// reconcile measures one attempt. The result is set after it has returned, so
// that a panic counts as a panic.
func (r *reporter) reconcile(ctx context.Context, key string) error {
	ctx, span := r.tracer.Start(ctx, "reconcile")
	defer span.End()
	ctx = tracelog.Bind(ctx)
	var result metrics.Result
	defer r.metrics.Begin().End(ctx, &result)
	err := r.report(ctx, key)
	result = metrics.Classify(err, 0, events.IsTerminal)
	return err
}

// report reports the Job of key if it has failed.
func (r *reporter) report(ctx context.Context, key string) error {
	item, found, err := r.jobs.GetStore().GetByKey(key)
	job, ok := item.(*batchv1.Job)
	if err != nil || !found || !ok {
		return err
	}
	f := jobgc.StateOf(job)
	if f.Outcome != jobgc.Failed || f.FinishedAt.Before(r.since) {
		return nil
	}
	logr.FromContextOrDiscard(ctx).Info("Job failed", "job", key, "reason", f.Reason)
	r.events.FailureReason(job, "JobFailed", fmt.Errorf("%s: %s", f.Reason, f.Message))
	return nil
}
