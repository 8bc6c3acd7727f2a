// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/events/redact"
)

// A request creates an Event, or updates the series of a stored Event.
type request struct {
	event     *eventsv1.Event // nil for an update
	core      bool            // by core/v1
	namespace string
	name      string // of the Event to update, and its series
	series    eventsv1.EventSeries
}

// requestOf makes the request of w, whose texts are not clean yet.
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

// redact cleans all texts of ev: notes that the API server takes, without
// credentials.
func (r *Recorder) redact(ev *eventsv1.Event) {
	if ev == nil {
		return
	}
	names := slices.Collect(maps.Keys(ev.Annotations))
	texts := []string{ev.Note}
	for _, name := range names {
		texts = append(texts, ev.Annotations[name])
	}
	if ev.Related != nil {
		texts = append(texts, ev.Related.Name)
	}
	clean := r.cleaner.clean(texts)
	ev.Note = clean[0]
	for i, name := range names {
		ev.Annotations[name] = clean[1+i]
	}
	if ev.Related != nil {
		ev.Related.Name = clean[1+len(names)]
	}
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

const (
	cleanTime    = time.Second // that a redactor may take for the texts of an Event
	maxRedactors = 2 * workers // calls of it at a time, with those that hang

	stuck = "[withheld: the redactor did not return within a second]"
)

// A cleaner calls the redactor, which is the caller's code and may hang.
type cleaner struct {
	redact  func(string) string // nil for redact.Text, which does not hang
	running atomic.Int32
}

// clean replaces each text by a note without credentials, also where the
// redactor panics. A redactor that hangs costs the texts, and no more: what it
// was called with is not used again, and its goroutine ends when it returns.
// Where too many hang, the redactor is not called. No lock is held.
func (c *cleaner) clean(texts []string) []string {
	if c.redact == nil {
		return notesOf(texts, redact.Text)
	}
	if c.running.Add(1) > maxRedactors {
		c.running.Add(-1)
		return withhold(texts)
	}
	cleaned := make(chan []string, 1)
	go func() {
		defer c.running.Add(-1) // also if the redactor ends the goroutine
		cleaned <- notesOf(texts, c.redact)
	}()
	late := time.NewTimer(cleanTime)
	defer late.Stop()
	select {
	case notes := <-cleaned:
		return notes
	case <-late.C:
		return withhold(texts)
	}
}

func notesOf(texts []string, redactor func(string) string) []string {
	notes := make([]string, len(texts))
	for i, text := range texts {
		notes[i] = redact.Note(text, redactor)
	}
	return notes
}

func withhold(texts []string) []string {
	notes := make([]string, len(texts))
	for i := range notes {
		notes[i] = stuck
	}
	return notes
}
