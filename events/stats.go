// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// The causes of lost events: keys of [Stats] and [LostError].
const (
	LostQueueFull     = "QueueFull"     // MaxObjects or MaxReasons were reached, and all of them waited to be written
	LostExpired       = "Expired"       // the API server or the namespace failed for RetryTimeout
	LostRejected      = "Rejected"      // an unknown type, a reason or action over 128 bytes, an Event that the API server refused, or no group served
	LostForbidden     = "Forbidden"     // neither group of events may be written, for 15 seconds
	LostNamespaceGone = "NamespaceGone" // the namespace is absent or terminating
	LostNoReference   = "NoReference"   // a nil object, or one whose kind is unknown
	LostShutdown      = "Shutdown"      // recorded after Start returned, or not written within DrainTimeout
)

// The results that Options.OnResult is called with.
const (
	ResultEmitted    = "emitted"    // written: an Event was created, or its series updated
	ResultAggregated = "aggregated" // a repeat that the Event of another occurrence reports
	ResultDropped    = "dropped"    // lost
)

// Stats count occurrences, one for each call that recorded one, since New. At
// every instant Recorded = Written + Coalesced + Suppressed + the sum of Lost +
// Pending.
type Stats struct {
	Recorded   int64            // calls that had something to record; none while Disabled
	Written    int64            // writes that succeeded: Events created and series updated
	Coalesced  int64            // repeats that were counted in the write of another occurrence
	Suppressed int64            // cancelled reconciles, routine conflicts, and repeats of a stored Event that were never added to its count
	Pending    int64            // not written or counted yet
	Lost       map[string]int64 // occurrences that no Event reports, by cause; causes that never occurred are absent

	Retried int64 // requests that failed and were made again; not part of the sum
	Evicted int64 // objects that made room for others; not part of the sum
}

// LostError is what [Recorder.Start] and [Recorder.Flush] return when events
// were lost.
type LostError struct {
	Lost map[string]int64 // occurrences by cause, as in [Stats]

	details map[string]string // by cause, how to fix it
}

// Error names each cause, its count and what to fix.
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
	if r == nil {
		return Stats{}
	}
	r.locked(func() {
		s = r.stats
		s.Lost = make(map[string]int64)
		for cause, l := range r.losses {
			s.Lost[cause] = l.total
		}
	})
	return s
}

// lost is the sum of Lost.
func (s *Stats) lost() int64 {
	return s.Recorded - s.Written - s.Coalesced - s.Suppressed - s.Pending
}

// A loss is the account of one cause. The log gets one line a minute for each.
type loss struct {
	total, unlogged int64
	returned        int64 // of total, what Start or a Flush has returned
	detail          string
	next            instant
}

// lose counts n occurrences as lost; detail says what to fix and never holds a
// note, and "" means what was said last about the same cause. mu must be held.
func (r *Recorder) lose(cause string, n int64, detail string) {
	if n == 0 {
		return
	}
	l := r.losses[cause]
	if l == nil {
		l = new(loss)
		r.losses[cause] = l
	}
	l.total += n
	l.unlogged += n
	l.detail = cmp.Or(detail, l.detail)
	if l.unlogged == n {
		r.notify()
	}
}

// lost returns a [LostError] about the losses that neither Start nor a Flush
// has returned yet; nil when there are none. mu must be held.
func (r *Recorder) lost() error {
	e := &LostError{Lost: make(map[string]int64), details: make(map[string]string)}
	for cause, l := range r.losses {
		if n := l.total - l.returned; n > 0 {
			e.Lost[cause], e.details[cause] = n, l.detail
			l.returned = l.total
		}
	}
	if len(e.Lost) == 0 {
		return nil
	}
	return e
}

// unlogged returns what is due for the log, and when more is. The first loss of
// a cause is due immediately, and then one line a minute. mu must be held.
func (r *Recorder) unlogged(now instant) (due map[string]loss, next instant) {
	next = never
	for cause, l := range r.losses {
		switch {
		case l.unlogged == 0:
		case now < l.next && !r.closed:
			next = min(next, l.next)
		default:
			if due == nil {
				due = make(map[string]loss)
			}
			due[cause] = *l
			l.unlogged = 0
			l.next = now.add(time.Minute)
		}
	}
	return due, next
}

// report logs what was lost.
func report(log logr.Logger, lost map[string]loss) {
	for cause, l := range lost {
		log.Error(nil, "Dropped events", "cause", cause, "count", l.unlogged, "detail", l.detail)
	}
}
