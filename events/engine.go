// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxReasons   = 8                // series that are remembered for an object
	longestQuiet = 10 * time.Minute // between two updates of a series
	// retryTimeout is how long the write of an Event is retried at least,
	// counted from its first attempt. See isHopeless.
	retryTimeout = 5 * time.Minute
)

// An engine is what all Recorders of a process share: a book under a lock, and
// what calls it.
type engine struct {
	sink       *Sink
	controller string // the argument of New, for log lines
	o          Options
	start      time.Time // what instants count from; its monotonic clock never steps back

	mu        sync.Mutex
	changed   sync.Cond // there may be work, or what a worker waits for
	book      *book
	running   bool
	unstarted unstarted
	told      Stats // what OnResult knows of the counts

	hookFailed atomic.Bool // OnResult has panicked
}

func newEngine(sink *Sink, controller string, o Options) *engine {
	e := &engine{
		sink:       sink,
		controller: controller,
		o:          o,
		start:      time.Now(),
		book: newBook(bounds{
			objects:   o.MaxObjects,
			series:    maxReasons,
			perObject: perMinute(o.WritesPerMinute),
			total:     perSecond(o.TotalWritesPerSecond, 5),
			pace:      perSecond(o.TotalWritesPerSecond/2, 1),
			pause:     min(time.Minute/time.Duration(o.WritesPerMinute), longestQuiet),
			longest:   longestQuiet,
			retry:     retryTimeout,
			namespace: o.Namespace,
			groups:    sink.groups(),
		}),
	}
	e.changed.L = &e.mu
	return e
}

func (e *engine) now() instant { return instant(time.Since(e.start)) + 1 }

// locked calls f under mu, and then OnResult without it: a hook may call the
// Recorder. f calls none of the caller's code.
func (e *engine) locked(f func()) {
	was, is, due := e.underLock(f)
	if due {
		e.logUnstarted()
	}
	if e.o.OnResult == nil {
		return
	}
	emitted := is.Written - was.Written
	aggregated := is.Coalesced + is.Suppressed - was.Coalesced - was.Suppressed
	e.tell(ResultEmitted, emitted)
	e.tell(ResultAggregated, aggregated)
	e.tell(ResultDropped, is.Recorded-was.Recorded-emitted-aggregated-is.Pending+was.Pending)
}

// underLock calls f under mu. It returns the counts that OnResult knows, the
// counts of now, and whether to log that no caller has started the engine.
func (e *engine) underLock(f func()) (was, is Stats, due bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	if e.book.isChanged {
		e.book.isChanged = false
		e.notify()
	}
	was = e.told
	is = e.book.stats
	e.told = is
	if !e.unstarted.begun {
		due = e.unstarted.due(e.now(), is.Pending, len(e.book.losses) > 0)
	}
	return was, is, due
}

// notify wakes a worker. mu must be held.
func (e *engine) notify() {
	if e.book.flushing > 0 {
		e.changed.Broadcast() // some only wait for the end
	} else {
		e.changed.Signal()
	}
}

// tell calls OnResult. Its first panic is logged.
func (e *engine) tell(result string, n int64) {
	if n <= 0 {
		return
	}
	err := e.hook(result, n)
	if err == nil || e.hookFailed.Swap(true) {
		return
	}
	e.logHook(err)
}

func (e *engine) hook(result string, n int64) (err error) {
	defer catch(e.o.OnResult, &err)
	e.o.OnResult(result, n)
	return nil
}

// Start may be called so late after the first event.
const startTime = time.Minute

// unstarted detects a Recorder that is never started. Its events stay in
// memory, and no other line of the log would say that.
type unstarted struct {
	begun  bool    // by Start or Flush
	since  instant // the first pending event; 0 while there is none
	logged bool
}

// due reports once, before begun, that the log must say it: a minute after the
// first pending event, or at the first loss.
func (u *unstarted) due(now instant, pending int64, lost bool) bool {
	if u.logged {
		return false
	}
	if u.since == 0 && pending > 0 {
		u.since = now
	}
	late := u.since > 0 && now.since(u.since) >= startTime
	u.logged = late || lost
	return u.logged
}
