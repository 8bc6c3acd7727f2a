// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Sink writes Events to an API server. Make one with [NewSink] or [NewCoreSink]; it is safe for concurrent use and may be
// shared by Recorders. Its clients should have a rate limiter of their own, or events queue behind reconciles.
type Sink struct {
	events func(namespace string) eventsClient
	core   func(namespace string) coreClient

	mu      sync.Mutex
	routes  map[string]time.Time // until when a namespace is written through core/v1; "" stands for all
	refused error                // why a route was made, until it has been reported
}

type eventsClient interface {
	Create(ctx context.Context, event *eventsv1.Event, opts metav1.CreateOptions) (*eventsv1.Event, error)
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string,
	) (*eventsv1.Event, error)
}

type coreClient interface {
	Create(ctx context.Context, event *corev1.Event, opts metav1.CreateOptions) (*corev1.Event, error)
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string,
	) (*corev1.Event, error)
}

const (
	routeTime = 10 * time.Minute
	maxRoutes = 1024
)

// NewSink returns a Sink that writes events.k8s.io/v1 and, where that group is not served or not granted, core/v1 Events
// that carry both generations of fields, so that old and new readers count and sort them alike. The new group is tried again
// every ten minutes. The parameters are the methods of client-go's clients, as values:
//
//	events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
//
// Either may be nil, which leaves the other alone; [New] refuses a Sink without both.
func NewSink[E eventsClient, C coreClient](events func(namespace string) E, core func(namespace string) C) *Sink {
	s := NewCoreSink(core)
	if events != nil {
		s.events = func(namespace string) eventsClient { return events(namespace) }
	}
	return s
}

// NewCoreSink returns a Sink that writes core/v1 alone. kubectl describe sorts by a field that only these Events have, so
// choose it where the order of its table matters more than the group.
func NewCoreSink[C coreClient](core func(namespace string) C) *Sink {
	s := &Sink{routes: make(map[string]time.Time)}
	if core != nil {
		s.core = func(namespace string) coreClient { return core(namespace) }
	}
	return s
}

func (s *Sink) usable() bool { return s != nil && (s.events != nil || s.core != nil) }

func (s *Sink) create(ctx context.Context, ev *eventsv1.Event) error {
	return s.write(ev.Namespace, func() error {
		_, err := s.events(ev.Namespace).Create(ctx, ev, metav1.CreateOptions{})
		return err
	}, func() error {
		_, err := s.core(ev.Namespace).Create(ctx, coreEvent(ev), metav1.CreateOptions{})
		return err
	})
}

// patch counts up an Event that either group stored: both are views of one object.
func (s *Sink) patch(ctx context.Context, namespace, name string, series eventsv1.EventSeries) error {
	return s.write(namespace, func() error {
		_, err := s.events(namespace).Patch(ctx, name, types.MergePatchType, seriesPatch(series, false), metav1.PatchOptions{})
		return err
	}, func() error {
		_, err := s.core(namespace).Patch(ctx, name, types.MergePatchType, seriesPatch(series, true), metav1.PatchOptions{})
		return err
	})
}

func (s *Sink) write(namespace string, events, core func() error) error {
	switch {
	case s.events == nil:
		return core()
	case s.core == nil:
		return events()
	case s.routed(namespace):
		err := core()
		if !groupRefused(err) {
			return err
		}
		return events()
	}
	err := events()
	if !groupRefused(err) {
		return err
	}
	if other := core(); !groupRefused(other) {
		s.route(namespace, err)
		return other
	}
	return err // of two refusals the one that names the permission to grant first
}

func (s *Sink) routed(namespace string) bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.routes[""]) || now.Before(s.routes[namespace])
}

// route remembers a refusal: of a missing group for all namespaces, of a missing permission for one.
func (s *Sink) route(namespace string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if notServed(err) {
		namespace = ""
	}
	if len(s.routes) >= maxRoutes {
		clear(s.routes)
	}
	s.routes[namespace] = time.Now().Add(routeTime)
	s.refused = err
}

// refusal returns, once, why Events go to core/v1.
func (s *Sink) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.refused
	s.refused = nil
	return err
}

// coreEvent is ev with the fields of both generations, as readers of either expect them.
func coreEvent(ev *eventsv1.Event) *corev1.Event {
	first := metav1.NewTime(ev.EventTime.Time)
	out := &corev1.Event{
		ObjectMeta:          ev.ObjectMeta,
		InvolvedObject:      ev.Regarding,
		Reason:              ev.Reason,
		Message:             ev.Note,
		Source:              corev1.EventSource{Component: ev.ReportingController},
		FirstTimestamp:      first,
		LastTimestamp:       first,
		Count:               1,
		Type:                ev.Type,
		EventTime:           ev.EventTime,
		Action:              ev.Action,
		Related:             ev.Related,
		ReportingController: ev.ReportingController,
		ReportingInstance:   ev.ReportingInstance,
	}
	if ev.Series != nil {
		out.Count = ev.Series.Count
		out.LastTimestamp = metav1.NewTime(ev.Series.LastObservedTime.Time)
		out.Series = &corev1.EventSeries{Count: ev.Series.Count, LastObservedTime: ev.Series.LastObservedTime}
	}
	return out
}
