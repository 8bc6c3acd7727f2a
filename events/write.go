// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A write is one request: it creates an Event, or updates the series of a
// stored Event.
type write struct {
	event     *eventsv1.Event // nil for an update
	core      bool            // by core/v1
	namespace string
	name      string // of the Event to update, and its series
	series    eventsv1.EventSeries
}

// prepare makes the request of j, whose note is not clean yet. mu must be held.
func (r *Recorder) prepare(j *job, now instant) write {
	clock := time.Now()
	// Instants become times of day when they are written: a clock that was set
	// since does not distort them.
	at := func(i instant) metav1.MicroTime { return metav1.NewMicroTime(clock.Add(i.since(now))) }
	s, ref := j.s, j.e.ref
	w := write{namespace: j.e.lane.name, core: j.core}
	if j.draft == nil {
		last := at(s.seen)
		if first := time.Unix(0, s.event); last.Time.Before(first) {
			last = metav1.NewMicroTime(first) // the clock was set back
		}
		w.name, w.series = eventName(ref.name, s.event), eventsv1.EventSeries{Count: count32(s.count + j.carried), LastObservedTime: last}
		return w
	}
	if j.draft.number == 0 {
		r.lastNumber = max(clock.UnixNano(), r.lastNumber+1) // unique, also where the clock is coarse or steps back
		j.draft.number = r.lastNumber
	}
	ev := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: eventName(ref.name, j.draft.number), Namespace: w.namespace},
		EventTime:           at(s.since),
		ReportingController: r.controller,
		ReportingInstance:   r.o.Instance,
		Action:              s.action,
		Reason:              s.reason,
		Regarding:           ref.object(),
		Note:                j.draft.text,
		Type:                "Normal",
	}
	if s.about != nil {
		ev.Regarding.FieldPath = s.about.fieldPath
		ev.Related = s.about.related.DeepCopy()
	}
	if s.warning {
		ev.Type = "Warning"
	}
	if j.carried > 1 {
		ev.Series = &eventsv1.EventSeries{Count: count32(j.carried), LastObservedTime: at(s.seen)}
	}
	w.event = ev
	return w
}

// redact cleans all texts of w. It runs without mu, since the redactor is the
// caller's code.
func (r *Recorder) redact(w *write, annotations map[string]string) (err error) {
	if w.event == nil {
		return nil
	}
	if w.event.Note, err = r.clean(w.event.Note); err != nil {
		return err
	}
	if w.event.Related != nil {
		if w.event.Related.Name, err = r.clean(w.event.Related.Name); err != nil {
			return err
		}
	}
	if len(annotations) > 0 {
		w.event.Annotations = make(map[string]string, len(annotations))
	}
	for k, v := range annotations {
		if w.event.Annotations[k], err = r.clean(v); err != nil {
			return err
		}
	}
	return nil
}

func count32(n int64) int32 { return int32(min(n, math.MaxInt32)) }

// seriesPatch is a merge patch, for core/v1 with the fields of the older
// generation as well.
func seriesPatch(s eventsv1.EventSeries, core bool) []byte {
	last := s.LastObservedTime.UTC()
	b := make([]byte, 0, 192)
	b = append(b, `{"series":{"count":`...)
	b = strconv.AppendInt(b, int64(s.Count), 10)
	b = append(b, `,"lastObservedTime":"`...)
	b = last.AppendFormat(b, metav1.RFC3339Micro)
	b = append(b, `"}`...)
	if core {
		b = append(b, `,"count":`...)
		b = strconv.AppendInt(b, int64(s.Count), 10)
		b = append(b, `,"lastTimestamp":"`...)
		b = last.AppendFormat(b, time.RFC3339)
		b = append(b, '"')
	}
	return append(b, '}')
}

// eventName is the object's name and a number in hexadecimal, at most 253
// bytes. A name that is not a DNS subdomain, as the name of an Event must be,
// is replaced by its hash.
func eventName(object string, number int64) string {
	base := strings.TrimRight(object[:min(len(object), 236)], "-.")
	var buf [256]byte
	b := buf[:0]
	if isSubdomain(base) {
		b = append(b, base...)
	} else {
		h := fnv.New64a()
		_, _ = h.Write([]byte(object))
		b = strconv.AppendUint(append(b, "event-"...), h.Sum64(), 16)
	}
	b = append(b, '.')
	return string(strconv.AppendInt(b, number, 16))
}

// isSubdomain reports whether s is an RFC 1123 subdomain, of any length but
// zero.
func isSubdomain(s string) bool {
	edge := true // at the start of a label, or after its hyphen
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			edge = false
		case c == '-' && (i > 0 && s[i-1] != '.'):
			edge = true
		case c == '.' && !edge:
			edge = true
		default:
			return false
		}
	}
	return !edge
}
