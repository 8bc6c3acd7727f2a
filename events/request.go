// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/events/internal/caller"
	"github.com/proompteng/controllerkit/internal/isnil"
)

// A request creates an Event, or updates the series of a stored Event.
type request struct {
	event     *eventsv1.Event // nil for an update
	core      bool            // by core/v1
	namespace string
	name      string // of the Event to update, and its series
	series    eventsv1.EventSeries
}

// A write is one request: it creates an Event, or updates the series of a
// stored Event.
type write struct {
	object *object
	series *series
	n      int64 // occurrences that it reports and no earlier one did

	isNew    bool
	isChange bool
	isUnsure bool // an earlier attempt of this Event had no answer
	isProbe  bool // in a namespace that fails
	core     bool // by core/v1

	number      int64 // in the name of the Event
	count       int64 // for its series
	hash        uint64
	text        string
	annotations map[string]string
	since, last time.Time
}

// attempted is called when w, which was put back, had no answer: it may have
// stored an Event.
func (s *series) attempted(w *write, now time.Time) {
	if !w.isNew || w.isUnsure {
		return
	}
	s.unsure = stored{number: w.number, count: w.count, hash: w.hash}
	if !w.object.isFree(s) {
		w.object.newEvents.AllowN(now, 1)
	}
}

// requestOf makes the request of w.
func (e *engine) requestOf(w *write) *request {
	// The times of occurrences become times of day when they are written, by
	// the monotonic clock: a clock that was set since does not distort them.
	now := time.Now()
	at := func(t time.Time) metav1.MicroTime { return metav1.NewMicroTime(now.Add(t.Sub(now))) }
	ref := w.object.ref
	last := eventsv1.EventSeries{Count: count32(w.count), LastObservedTime: at(w.last)}
	req := &request{
		core:      w.core,
		namespace: w.object.namespace.name,
		name:      eventName(ref.Name, w.number),
		series:    last,
	}
	if !w.isNew {
		return req
	}
	s := w.series
	req.event = &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:        req.name,
			Namespace:   req.namespace,
			Annotations: w.annotations,
		},
		EventTime:           at(w.since),
		ReportingController: s.controller,
		ReportingInstance:   e.o.Instance,
		Action:              s.action,
		Reason:              s.reason,
		Regarding:           ref,
		Note:                w.text,
		Type:                s.eventtype,
	}
	if s.about != nil {
		req.event.Regarding.FieldPath = s.about.fieldPath
	}
	if s.about != nil && s.about.related != (corev1.ObjectReference{}) {
		related := s.about.related
		req.event.Related = &related
	}
	if w.count > 1 {
		req.event.Series = &last
	}
	return req
}

const requestTime = 5 * time.Second

// ask makes a request. It returns what the answer means, and why for the log.
func (e *engine) ask(ctx context.Context, w *write) (got reply, why string) {
	limited, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req := e.requestOf(w)
	got, why, err := e.send(limited, req)
	switch {
	case err != nil:
		return rejected, err.Error()
	case got != written && ctx.Err() != nil:
		return interrupted, why
	}
	return got, why
}

// send makes a request and reads the answer. It returns an error if the client,
// or an error of the client, panicked.
func (e *engine) send(ctx context.Context, req *request) (got reply, why string, err error) {
	defer caller.Catch(e.sink, &err)
	failed := e.sink.send(ctx, req)
	if isnil.Is(failed) {
		return written, "", nil
	}
	return read(failed, req.event != nil), e.clean(explain(failed)), nil
}

func count32(n int64) int32 { return int32(min(n, math.MaxInt32)) }

// seriesPatch is a merge patch, for core/v1 with the fields of the older
// generation as well.
func seriesPatch(s eventsv1.EventSeries, core bool) ([]byte, error) {
	patch := map[string]any{"series": s}
	if core {
		patch["count"], patch["lastTimestamp"] = s.Count, metav1.NewTime(s.LastObservedTime.Time)
	}
	return json.Marshal(patch)
}

// eventName is the object's name and a number in hexadecimal, at most 253
// bytes. "event" replaces a name that is not a DNS subdomain, which the name of
// an Event must be.
func eventName(object string, number int64) string {
	base := strings.TrimRight(object[:min(len(object), 236)], "-.")
	if len(validation.IsDNS1123Subdomain(base)) > 0 {
		base = "event"
	}
	var buf [256]byte
	return string(strconv.AppendInt(append(append(buf[:0], base...), '.'), number, 16))
}
