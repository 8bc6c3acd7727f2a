// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/go-logr/logr"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
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
	fail  func(o *corev1.ConfigMap, note string)
	stop  func()               // the documented stop at the end of a process
	drain func(s *store) error // for client-go's pipelines: waits until all recorded events are done; nil if not needed
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
		to, err := s.sinks()
		if err != nil {
			return recorder{}, err
		}
		rec, err := events.New(to.ours, controller, o)
		if err != nil {
			return recorder{}, err
		}
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = rec.Start(ctx) // losses show in the store
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
	to, err := s.sinks()
	if err != nil {
		return recorder{}, err
	}
	b := record.NewBroadcaster(record.WithContext(klog.NewContext(ctx, logr.Discard())))
	b.StartRecordingToSink(to.record)
	rec := b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: controller}).WithLogger(logr.Discard())
	fail := func(o *corev1.ConfigMap, note string) { rec.Event(o, corev1.EventTypeWarning, reason, note) }
	return recorder{fail: fail, stop: b.Shutdown, drain: drainOrdered(fail)}, nil
}

func startEvents(ctx context.Context, s *store) (recorder, error) {
	to, err := s.sinks()
	if err != nil {
		return recorder{}, err
	}
	b := toolsevents.NewBroadcaster(to.events)
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
	if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		return recorder{}, err
	}
	rec := b.NewRecorder(scheme.Scheme, controller).WithLogger(logr.Discard())
	fail := func(o *corev1.ConfigMap, note string) {
		rec.Eventf(o, nil, corev1.EventTypeWarning, reason, "Reconcile", note)
	}
	return recorder{fail: fail, stop: func() { b.Shutdown(); cancel() }, drain: drainSpawning(fail)}, nil
}
