// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/go-logr/logr"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	toolsevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/events"
)

// The text of every failure.
const (
	controller = "bench.example.com/run"
	reason     = events.Unavailable
	note       = "the model API answered 503: upstream connect error, reset before headers"
)

// recorder is a running recorder.
type recorder struct {
	fail func(o *corev1.ConfigMap, note string)
	stop func() // the documented stop at the end of a process
}

// way starts a recorder that writes to s.
type way struct {
	name  string
	start func(ctx context.Context, s *store) (recorder, error)
}

// The peers' names in the table.
const (
	toolsRecord = "client-go tools/record"
	toolsEvents = "client-go tools/events"
)

// ours returns a Recorder with these options and the scheme. All ways use a
// scheme, because objects of typed clients have no kind.
func ours(o events.Options) way {
	return way{name: "ours", start: func(ctx context.Context, s *store) (recorder, error) {
		o.Scheme = scheme.Scheme
		var none func(string) typedcorev1.EventInterface // this server refuses no group
		sink := events.NewSink(func(string) ourEvents { return ourEvents{s} }, none)
		rec, err := events.New(sink, controller, o)
		if err != nil {
			return recorder{}, err
		}
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = rec.RunWith(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return nil
			}) // losses show in the store
		}()
		return recorder{
			fail: func(o *corev1.ConfigMap, note string) {
				rec.Eventf(o, nil, corev1.EventTypeWarning, reason, "", note, []any(nil)...)
			},
			stop: func() { cancel(); <-done },
		}, nil
	}}
}

// The peers run with their defaults, like in their documentation and most
// controllers, but without logs.
var (
	recommended = ours(events.Options{}) // the zero value is recommended

	peers = []way{{toolsRecord, startRecord}, {toolsEvents, startEvents}}
	ways  = append([]way{recommended}, peers...)
)

func startRecord(ctx context.Context, s *store) (recorder, error) {
	b := record.NewBroadcaster(record.WithContext(klog.NewContext(ctx, logr.Discard())))
	b.StartRecordingToSink(recordSink{s})
	rec := b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: controller}).WithLogger(logr.Discard())
	fail := func(o *corev1.ConfigMap, note string) { rec.Event(o, corev1.EventTypeWarning, reason, note) }
	return recorder{fail: fail, stop: b.Shutdown}, nil
}

func startEvents(ctx context.Context, s *store) (recorder, error) {
	b := toolsevents.NewBroadcaster(eventsSink{s})
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		return recorder{}, err
	}
	rec := b.NewRecorder(scheme.Scheme, controller).WithLogger(logr.Discard())
	fail := func(o *corev1.ConfigMap, note string) {
		rec.Eventf(o, nil, corev1.EventTypeWarning, reason, "Reconcile", note)
	}
	return recorder{fail: fail, stop: func() { b.Shutdown(); cancel() }}, nil
}

// object returns an object without its kind, as from a typed client.
func object(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ci", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "4711",
	}}
}
