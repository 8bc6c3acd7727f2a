// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The causes by which an event is lost: keys of [Stats] and [LostError].
const (
	LostQueueFull     = "QueueFull"     // MaxObjects or MaxReasons were reached and all of them waited to be written
	LostExpired       = "Expired"       // the API server failed for MaxAge
	LostRejected      = "Rejected"      // an unknown type, a reason or action over 128 bytes, a note that panicked, an invalid Event, or no group served for 15 seconds
	LostForbidden     = "Forbidden"     // neither group of events may be written, for 15 seconds
	LostNamespaceGone = "NamespaceGone" // the namespace is absent or terminating
	LostNoReference   = "NoReference"   // a nil object, or one whose kind is unknown
	LostShutdown      = "Shutdown"      // recorded after Start returned, or not written within Grace
)

// The fates that Options.Observe hears of.
const (
	FateEmitted    = "emitted"    // written: an Event was created, or its series updated
	FateAggregated = "aggregated" // a repeat that another occurrence's Event stands for
	FateDropped    = "dropped"    // lost
)

type cause uint8

const (
	_ cause = iota
	queueFull
	expired
	rejected
	forbidden
	namespaceGone
	noReference
	shutdown
	causes
)

func (c cause) String() string {
	return [causes]string{
		queueFull: LostQueueFull, expired: LostExpired, rejected: LostRejected, forbidden: LostForbidden,
		namespaceGone: LostNamespaceGone, noReference: LostNoReference, shutdown: LostShutdown,
	}[c]
}

// Stats count occurrences, one for each call that recorded one, since New. At every instant
// Recorded = Written + Coalesced + Suppressed + the sum of Lost + Pending.
type Stats struct {
	Recorded   int64            // calls that had something to record; none while Disabled
	Written    int64            // those that a write of their own told of: Events created plus series updated
	Coalesced  int64            // repeats that were counted in the write of another
	Suppressed int64            // each context.Canceled, and repeats of a written Event that nothing counts: it expired, its object or series made room, or time ran out
	Pending    int64            // those still to be written or counted
	Lost       map[string]int64 // those that nothing tells of, by cause; causes that never happened are absent

	Retried int64 // attempts that failed and were made again; no part of the sum
	Evicted int64 // objects that made room for others; no part of the sum
}

// LostError is what [Recorder.Start] and [Recorder.Flush] return when events were lost.
type LostError struct {
	Lost map[string]int64 // occurrences by cause, as in [Stats]

	details map[string]string // by cause, what to mend
}

// Error names each cause, its count and what to mend.
func (e *LostError) Error() string {
	parts := make([]string, 0, len(e.Lost))
	for c, n := range e.Lost {
		part := fmt.Sprintf("%d %s", n, c)
		if detail := e.details[c]; detail != "" {
			part += " (" + detail + ")"
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return "events: lost " + strings.Join(parts, ", ")
}

// Stats returns a snapshot; zero on a nil *Recorder.
func (r *Recorder) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	r.mu.Lock()
	defer r.unlock()
	s := r.stats
	s.Pending = r.pending()
	s.Lost = make(map[string]int64)
	for c, n := range r.losses {
		if n.total > 0 {
			s.Lost[cause(c).String()] = n.total
		}
	}
	return s
}

// A loss is the account of one cause. The log gets one line a minute for each.
type loss struct {
	total, unlogged int64
	returned        int64 // of total, what Start or a Flush has returned
	detail          string
	next            time.Duration
}

// lost returns a [LostError] about everything that was lost since New, or about what none has told of yet; nil when that is
// nothing.
func (r *Recorder) lost(everything bool) error {
	r.mu.Lock()
	defer r.unlock()
	e := &LostError{Lost: make(map[string]int64), details: make(map[string]string)}
	for c := range r.losses {
		l := &r.losses[c]
		n := l.total
		if !everything {
			n -= l.returned
		}
		l.returned = l.total
		if n > 0 {
			name := cause(c).String()
			e.Lost[name], e.details[name] = n, l.detail
		}
	}
	if len(e.Lost) == 0 {
		return nil
	}
	return e
}

// lose counts n occurrences as lost; detail says what to mend and never holds a note, and "" stands for what was said last of
// the same cause. mu must be held.
func (r *Recorder) lose(c cause, n int64, detail string) {
	if n == 0 {
		return
	}
	l := &r.losses[c]
	l.total += n
	l.unlogged += n
	if detail != "" {
		l.detail = detail
	}
	r.news.dropped += n
	if l.unlogged == n {
		r.notify()
	}
}

func (r *Recorder) suppress(n int64) {
	r.stats.Suppressed += n
	r.news.aggregated += n
}

// told counts the occurrences of one write. mu must be held.
func (r *Recorder) told(n int64) {
	r.stats.Written++
	r.stats.Coalesced += n - 1
	r.news.emitted++
	r.news.aggregated += n - 1
}

// news is what Observe has not heard yet.
type news struct {
	emitted, aggregated, dropped int64
}

// unlock releases mu and then tells Observe: a hook must be free to call the Recorder.
func (r *Recorder) unlock() {
	n := r.news
	r.news = news{}
	r.mu.Unlock()
	if r.o.Observe == nil {
		return
	}
	if n.emitted > 0 {
		r.o.Observe(FateEmitted, n.emitted)
	}
	if n.aggregated > 0 {
		r.o.Observe(FateAggregated, n.aggregated)
	}
	if n.dropped > 0 {
		r.o.Observe(FateDropped, n.dropped)
	}
}
