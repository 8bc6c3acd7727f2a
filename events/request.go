// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// A request creates an Event, or updates the series of a stored Event.
type request struct {
	event     *eventsv1.Event // nil for an update
	core      bool            // by core/v1
	namespace string
	name      string // of the Event to update, and its series
	series    eventsv1.EventSeries
}

// requestOf makes the request of w.
func (r *Recorder) requestOf(w *write, now instant) *request {
	clock := time.Now()
	// Instants become times of day when they are written: a clock that was set
	// since does not distort them.
	at := func(i instant) metav1.MicroTime { return metav1.NewMicroTime(clock.Add(i.since(now))) }
	ref := w.object.ref
	last := eventsv1.EventSeries{Count: count32(w.count), LastObservedTime: at(w.seen)}
	req := &request{
		core:      w.core,
		namespace: w.object.namespace.name,
		name:      eventName(ref.Name, w.number),
		series:    last,
	}
	if w.draft == nil {
		first := time.Unix(0, w.number)
		if req.series.LastObservedTime.Time.Before(first) { // the clock was set back
			req.series.LastObservedTime = metav1.NewMicroTime(first)
		}
		return req
	}
	s := w.series
	annotations := maps.Clone(r.o.Annotations)
	if annotations == nil {
		annotations = maps.Clone(w.draft.annotations)
	} else {
		maps.Copy(annotations, w.draft.annotations)
	}
	req.event = &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:        req.name,
			Namespace:   req.namespace,
			Annotations: annotations,
		},
		EventTime:           at(w.since),
		ReportingController: s.controller,
		ReportingInstance:   r.o.Instance,
		Action:              s.action,
		Reason:              s.reason,
		Regarding:           ref,
		Note:                w.draft.text,
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
