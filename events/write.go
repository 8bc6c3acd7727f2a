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

// A write is one request: an Event to create, or the series of one that is stored.
type write struct {
	event     *eventsv1.Event // nil for an update
	namespace string
	name      string // of the Event to update, and its series
	series    eventsv1.EventSeries
}

// prepare makes the request of j. mu must be held.
func (r *Recorder) prepare(j *job, now time.Duration) write {
	j.attempted = now
	clock := time.Now()
	// Instants become times of day when they are written: a clock that was set since does not distort them.
	at := func(i time.Duration) metav1.MicroTime { return metav1.NewMicroTime(clock.Add(i - now)) }
	s, ref := j.s, j.e.ref
	namespace := or(ref.namespace, r.o.Namespace)
	if j.draft == nil {
		last := at(s.seen)
		if first := time.Unix(0, s.event); last.Time.Before(first) {
			last = metav1.NewMicroTime(first) // the clock was set back
		}
		return write{
			namespace: namespace, name: eventName(ref.name, s.event),
			series: eventsv1.EventSeries{Count: count32(s.count + j.carried), LastObservedTime: last},
		}
	}
	if j.number == 0 {
		r.lastNumber = max(clock.UnixNano(), r.lastNumber+1) // unique, also where the clock is coarse or steps back
		j.number = r.lastNumber
	}
	regarding := ref.object()
	regarding.FieldPath = j.draft.fieldPath
	ev := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: eventName(ref.name, j.number), Namespace: namespace, Annotations: j.draft.annotations},
		EventTime:           at(s.since),
		ReportingController: r.controller,
		ReportingInstance:   r.o.Instance,
		Action:              s.action,
		Reason:              s.reason,
		Regarding:           regarding,
		Related:             j.draft.related,
		Note:                j.draft.note,
		Type:                "Normal",
	}
	if s.warning {
		ev.Type = "Warning"
	}
	if j.carried > 1 {
		ev.Series = &eventsv1.EventSeries{Count: count32(j.carried), LastObservedTime: at(s.seen)}
	}
	return write{event: ev, namespace: namespace}
}

func count32(n int64) int32 { return int32(min(n, math.MaxInt32)) }

// seriesPatch is a merge patch, for core/v1 with the fields of the older generation as well.
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

// eventName is the object's name and a number in hexadecimal, at most 253 bytes. The hash of the name stands for one that is
// no DNS subdomain, which the name of an Event has to be.
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

// isSubdomain reports whether s is an RFC 1123 subdomain, of any length but zero.
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
