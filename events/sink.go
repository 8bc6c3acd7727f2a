// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Sink writes Events to an API server. Make one with [NewSink] or
// [NewCoreSink]; it is safe for concurrent use and may be shared by Recorders.
// Give its clients a separate rate limiter, or events queue behind reconciles.
// The limiter must allow [Options].TotalWritesPerSecond. client-go's default of
// 5 a second does not: set QPS and Burst of the rest.Config. A client that
// delays a request for more than five seconds looks like a namespace that
// hangs.
type Sink struct {
	events func(namespace string) client[eventsv1.Event] // or nil
	core   func(namespace string) client[corev1.Event]   // or nil
}

type client[T any] interface {
	Create(ctx context.Context, event *T, opts metav1.CreateOptions) (*T, error)
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions,
		subresources ...string,
	) (*T, error)
}

// NewSink returns a Sink that writes events.k8s.io/v1. In a namespace where that
// group is not served, or not granted, it writes core/v1 Events, with the
// fields of both versions. It tries events.k8s.io again after ten minutes. The
// parameters are the methods of client-go's clients, as values:
//
//	events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events)
//
// A Sink calls two methods of the clients, so a fake needs only these. T is
// Event of k8s.io/api/events/v1 for E, and of k8s.io/api/core/v1 for C:
//
//	Create(ctx context.Context, event *T, opts metav1.CreateOptions) (*T, error)
//	Patch(ctx context.Context, name string, pt types.PatchType, data []byte,
//		opts metav1.PatchOptions, subresources ...string) (*T, error)
//
// Pass a nil of the method's type to use only the other group; [New] refuses a
// Sink without both:
//
//	var none func(namespace string) typedcorev1.EventInterface
//	events.NewSink(cs.EventsV1().Events, none)
func NewSink[E client[eventsv1.Event], C client[corev1.Event]](
	events func(namespace string) E, core func(namespace string) C,
) *Sink {
	s := NewCoreSink(core)
	if events != nil {
		s.events = func(namespace string) client[eventsv1.Event] { return events(namespace) }
	}
	return s
}

// NewCoreSink returns a Sink that writes only core/v1. Use it if the last row
// of kubectl describe must be the latest occurrence. core is the method
// cs.CoreV1().Events; [NewSink] shows what a client needs.
func NewCoreSink[C client[corev1.Event]](core func(namespace string) C) *Sink {
	s := &Sink{}
	if core != nil {
		s.core = func(namespace string) client[corev1.Event] { return core(namespace) }
	}
	return s
}

func (s *Sink) check() error {
	if s == nil || s.events == nil && s.core == nil {
		return errors.New("events: the sink has no client; make one with NewSink")
	}
	return nil
}

// send makes the request. Both groups are views of one object, so each may
// update what the other created.
func (s *Sink) send(ctx context.Context, w *request) error {
	if w.core {
		return sendTo(ctx, s.core(w.namespace), w, coreEvent)
	}
	asIs := func(ev *eventsv1.Event) *eventsv1.Event { return ev }
	return sendTo(ctx, s.events(w.namespace), w, asIs)
}

func sendTo[T any](ctx context.Context, c client[T], w *request, convert func(*eventsv1.Event) *T) error {
	if w.event != nil {
		_, err := c.Create(ctx, convert(w.event), metav1.CreateOptions{})
		return err
	}
	patch, err := seriesPatch(w.series, w.core)
	if err == nil {
		_, err = c.Patch(ctx, w.name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}

// coreEvent is ev with the fields of both generations, as readers of either
// expect them.
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
		out.Series = &corev1.EventSeries{
			Count:            ev.Series.Count,
			LastObservedTime: ev.Series.LastObservedTime,
		}
	}
	return out
}
