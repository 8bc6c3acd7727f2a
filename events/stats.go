// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// The causes of lost events: keys of [Stats] and [LostError].
const (
	// LostQueueFull: the Recorder was full. MaxObjects was reached, half of it
	// by objects in failing namespaces, or 8 series of one object.
	LostQueueFull = "QueueFull"
	// LostExpired: the write failed for five minutes, and others succeeded.
	LostExpired = "Expired"
	// LostRejected: a wrong type, a reason that is empty or over 128 bytes, an
	// action over 128 bytes, annotations that are not accepted, an Event that
	// the API server refused, or no group of events served.
	LostRejected = "Rejected"
	// LostForbidden: neither group of events may be written, for 45 seconds, or
	// for 15 in a Flush or a stop.
	LostForbidden = "Forbidden"
	// LostNamespaceGone: the namespace is absent or terminating.
	LostNamespaceGone = "NamespaceGone"
	// LostNoReference: a nil object, or one without metadata or a known kind.
	LostNoReference = "NoReference"
	// LostShutdown: recorded after Start returned, or not written before it
	// ended.
	LostShutdown = "Shutdown"
)

// The results that Options.OnResult is called with.
const (
	// ResultEmitted is Stats.Written: an Event was created, or its series
	// updated.
	ResultEmitted = "emitted"
	// ResultAggregated is Stats.Coalesced and Stats.Suppressed: no separate
	// write, and not lost.
	ResultAggregated = "aggregated"
	// ResultDropped is the sum of Stats.Lost.
	ResultDropped = "dropped"
)

// Stats counts the calls that recorded something since New. Each call is in
// exactly one of Written, Coalesced, Suppressed, Pending and Lost, so that
// their sum is Recorded. Of the calls that one write reports, one counts as
// Written and the others as Coalesced.
type Stats struct {
	// Recorded counts all calls that had something to record; none while
	// Disabled.
	Recorded int64
	// Written counts the writes that succeeded: Events created and series
	// updated.
	Written int64
	// Coalesced counts repeats that were reported by the write of another
	// occurrence.
	Coalesced int64
	// Unread counts the coalesced repeats whose note no Event shows, because a
	// later note replaced it; not part of the sum.
	Unread int64
	// Suppressed counts cancelled reconciles, routine conflicts, and repeats of
	// a stored Event that were never added to its count.
	Suppressed int64
	// Pending counts occurrences that no write has reported yet.
	Pending int64
	// Lost counts occurrences that no Event reports, by cause. Causes that
	// never occurred are absent.
	Lost map[string]int64

	// Retried counts requests that failed and were made again; not part of the
	// sum.
	Retried int64
	// Evicted counts objects that made room for others; not part of the sum.
	Evicted int64
}

// LostError is returned by [Recorder.Start] and [Recorder.Flush], alone or
// joined with another error, when events were lost. Find it with errors.As and
// a *LostError.
type LostError struct {
	// Lost counts occurrences by cause, as in [Stats].
	Lost map[string]int64

	details map[string]string // by cause, how to fix it
}

// Error names each cause, its count and what to fix, or the error of the API
// server.
func (e *LostError) Error() string {
	parts := make([]string, 0, len(e.Lost))
	for _, c := range slices.Sorted(maps.Keys(e.Lost)) {
		part := fmt.Sprintf("%d %s", e.Lost[c], c)
		if detail := e.details[c]; detail != "" {
			part += " (" + detail + ")"
		}
		parts = append(parts, part)
	}
	return "events: lost " + strings.Join(parts, ", ")
}

// Stats returns a snapshot; zero on a nil *Recorder.
func (r *Recorder) Stats() (s Stats) {
	if r == nil || r.engine == nil {
		return Stats{}
	}
	r.locked(func() {
		s = r.book.stats
		s.Lost = make(map[string]int64)
		for cause, l := range r.book.losses {
			s.Lost[cause] = l.total
		}
	})
	return s
}

// HasPending reports whether an Event about obj, of any controller of the
// process, waits to be written or is being written. A number of repeats that
// waits alone does not count. Look before a step that is to come after the
// Event, such as the deletion of obj, and do not wait longer than a few
// seconds: the API server may take no Event for hours. It is false on a nil or
// disabled Recorder, after Start has returned, and for an object that cannot be
// identified.
func (r *Recorder) HasPending(obj runtime.Object) (pending bool) {
	if r.off() {
		return false
	}
	id, err := r.identify(obj)
	if err != nil {
		return false
	}
	r.locked(func() { pending = r.book.hasPending(id.key) })
	return pending
}
