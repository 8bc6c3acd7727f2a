// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"hash/maphash"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Recorder records Events about objects and never blocks on the API server. It fits k8s.io/client-go/tools/events
// EventRecorder, and [Recorder.Outlive] fits controller-runtime's manager. All methods are safe for concurrent use, and do nothing on a
// nil *Recorder. Make one with [New]; it must not be copied.
type Recorder struct {
	sink       *Sink
	controller string
	o          Options
	perObject  limit
	slack      time.Duration // how long a count waits after its pause for a repeat to bring its note
	seed       maphash.Seed
	start      time.Time     // what instants count from; its monotonic clock never steps back
	wake       chan struct{} // one message for each worker that may look for work

	mu      sync.Mutex
	entries map[key]*entry
	idle    list   // entries that may be evicted, the most recently used first
	fresh   list   // entries with a first occurrence that may be written now
	updates list   // other entries that have something to write now
	later   timers // entries with something to write that wait for a token or for the end of a pause
	retries []*job // writes that failed and are to be made again
	spare   *job   // one that has ended, for the next write
	total   bucket

	running, closed bool
	hurry           int // how many callers want every count written now
	writing         int // writes under way
	retrying        int // those of them that failed before
	drafting        int // notes that are being formatted
	faults          int // failures in a row that are the server's
	faulted         time.Duration
	resume          time.Duration // no write before this instant
	asked           time.Duration // nor before this one, as the server said
	retried         bool          // the last write that began had failed before
	lastNumber      int64
	changed         chan struct{} // closed when a write ends, if someone waits for it

	stats  Stats // Lost and Pending are filled in by Stats
	losses [causes]loss
	news   news
}

// New returns a Recorder that writes to sink as controller, which becomes the reportingController of its Events: a qualified
// name such as "agents.example.com/agentrun". It starts nothing: events are kept, within MaxObjects, until [Recorder.Start] or
// [Recorder.Flush] writes them. A sink without a client, a name the API server refuses and an option out of range are errors; all
// of them are reported.
func New(sink *Sink, controller string, o Options) (*Recorder, error) {
	var noClient error
	if !sink.usable() {
		noClient = errors.New("events: the sink has no client; make one with NewSink")
	}
	if err := errors.Join(noClient, checkController(controller), o.check()); err != nil {
		return nil, err
	}
	o = o.resolved()
	r := &Recorder{
		sink:       sink,
		controller: controller,
		o:          o,
		perObject:  perMinute(o.PerMinute),
		slack:      min(time.Minute/time.Duration(o.PerMinute), o.Quiet),
		seed:       maphash.MakeSeed(),
		start:      time.Now(),
		wake:       make(chan struct{}, workers),
		entries:    make(map[key]*entry),
	}
	r.total.fill(perSecond(o.TotalPerSecond))
	return r, nil
}

// Eventf records an Event about regarding. Occurrences of one type, reason and action about one object form a series: the
// first is written at once, or as soon as the object's cap allows, ahead of all updates; a repeat within the pause is counted
// and costs no allocation. The note is formatted only when something may be written; a note that has changed then becomes a
// new Event, so readers see the latest cause. Without args the note is taken as it is, but for %% which stands for %.
//
// eventtype is Normal or Warning; reason is 1 to 128 bytes; action too, and an empty one becomes the reason. related may be
// nil. What cannot be recorded is counted in [Stats] by its cause and named in the log.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.record(occurrence{
		regarding: regarding, related: related, eventtype: eventtype, reason: reason, action: action, note: note, args: args,
	})
}

// AnnotatedEventf is Eventf with annotations on the Event. A repeat that is only counted leaves its annotations behind. Their values
// are cleaned as notes are: redacted, on one line, at most 1,024 bytes.
func (r *Recorder) AnnotatedEventf(
	regarding, related runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any,
) {
	r.record(occurrence{
		regarding: regarding, related: related, annotations: annotations,
		eventtype: eventtype, reason: reason, action: action, note: note, args: args,
	})
}

// Forget drops what is kept about obj; call it when the object is gone. Events that wait are still written. Unless its
// bucket is full the object leaves only as the first to make room, so forgetting does not lift the cap.
func (r *Recorder) Forget(obj runtime.Object) {
	if r == nil || r.o.Disabled {
		return
	}
	k, err := identify(obj, r.o.Scheme)
	if err != nil {
		return
	}
	now := r.now()
	r.mu.Lock()
	defer r.unlock()
	if e := r.entries[k]; e != nil {
		e.forgotten = true
		e.lastFailure = ""
		r.settle(e, now)
	}
}

func (r *Recorder) now() time.Duration { return time.Since(r.start) }

// An occurrence is one call that records.
type occurrence struct {
	regarding, related        runtime.Object
	annotations               map[string]string
	eventtype, reason, action string
	note                      string
	args                      []any
	err                       error // its text is the note, unless verbatim
	verbatim                  bool  // note is no format
	failure                   bool  // opens a failure that Recovered will end
	terminal                  bool  // a changed note does not wait for the end of the pause
}

func (r *Recorder) record(o occurrence) {
	if r == nil || r.o.Disabled {
		return
	}
	if o.action == "" {
		o.action = o.reason
	}
	k, err := identify(o.regarding, r.o.Scheme)
	c, problem := noReference, err
	if err == nil {
		c, problem = rejected, o.check()
	}
	changed := uint64(0)
	if o.terminal && problem == nil {
		o.note, o.verbatim = o.text(), true
		changed = r.hash(o.note)
	}
	now := r.now()

	r.mu.Lock()
	r.stats.Recorded++
	switch {
	case r.closed:
		r.lose(shutdown, 1, "recorded after Start had returned")
	case problem != nil:
		r.lose(c, 1, problem.Error())
	default:
		e := r.entry(k, &o, now)
		if e == nil {
			break
		}
		if s := r.count(e, &o, changed, now); s != nil {
			r.draft(e, s, &o, now) // unlocks
			return
		}
	}
	r.unlock()
}

// check says what the API server would refuse.
func (o *occurrence) check() error {
	switch {
	case o.eventtype != corev1.EventTypeWarning && o.eventtype != corev1.EventTypeNormal:
		return errors.New("the event type is neither Normal nor Warning")
	case o.reason == "" || len(o.reason) > maxReason:
		return errors.New("the reason is empty or longer than 128 bytes")
	case len(o.action) > maxAction:
		return errors.New("the action is longer than 128 bytes")
	}
	return nil
}

// entry returns what is kept about the object, making room for it if need be; nil when it cannot be kept, and the occurrence
// is counted as lost.
func (r *Recorder) entry(k key, o *occurrence, now time.Duration) *entry {
	if e := r.entries[k]; e != nil {
		e.forgotten = false
		return e
	}
	// The scheme has locks of its own: it must not be asked under ours.
	r.mu.Unlock()
	ref, err := refer(o.regarding, r.o.Scheme)
	r.mu.Lock()
	if e := r.entries[k]; e != nil {
		return e
	}
	switch {
	case r.closed:
		r.lose(shutdown, 1, "recorded after Start had returned")
		return nil
	case err != nil:
		r.lose(noReference, 1, err.Error())
		return nil
	case !r.makeRoom(now):
		r.lose(queueFull, 1, "raise Options.MaxObjects or Options.TotalPerSecond")
		return nil
	}
	e := &entry{ref: ref}
	e.bucket.fill(r.perObject)
	r.entries[k] = e
	return e
}

// count adds an occurrence to its series, and returns the series when its note is wanted. Its drafting is then set, which
// lets concurrent repeats be counted without a note.
func (r *Recorder) count(e *entry, o *occurrence, hash uint64, now time.Duration) *series {
	warning := o.eventtype == corev1.EventTypeWarning
	s := e.find(warning, o.reason, o.action)
	switch {
	case s == nil:
		if s = r.newSeries(e, warning, o.reason, o.action); s == nil {
			r.lose(queueFull, 1, "more reasons at once than Options.MaxReasons for one object")
			return nil
		}
	case (now-s.seen)/2 > r.o.Quiet && s.pending == 0:
		// Silent for so long that it is news again.
		s.first, s.hash, s.pause, s.due, s.refused = true, 0, r.slack, 0, 0
	}
	if o.failure && e.lastFailure == "" {
		r.hasten(e, false, now)
	}
	if o.failure {
		e.lastFailure, s.open = o.reason, true
	}
	if s.refused != 0 && now < s.due {
		s.seen = now
		r.lose(s.refused, 1, "") // why, was said when the series was refused
		return nil
	}
	s.occurred(now)
	anew := hash != 0 && hash != s.hash
	if s.drafting || !anew && (s.draft != nil || s.busy || now < s.due) {
		if s.pending == 1 {
			r.settle(e, now)
		} else if e.on == &r.idle {
			e.unlink()
			r.idle.pushFront(e)
		}
		return nil
	}
	s.drafting = true
	e.drafting++
	r.drafting++
	if e.on == &r.idle {
		e.unlink()
	}
	return s
}

// newSeries adds a series to e. At MaxReasons the one that was silent for longest makes room, unless it waits to be written.
func (r *Recorder) newSeries(e *entry, warning bool, reason, action string) *series {
	n := 0
	var link **series
	for at := &e.series; *at != nil; at = &(*at).older {
		n++
		s := *at
		if s.draft == nil && !s.drafting && !s.busy && (link == nil || s.seen < (*link).seen) {
			link = at
		}
	}
	if n >= r.o.MaxReasons {
		if link == nil {
			return nil
		}
		r.suppress((*link).pending)
		*link = (*link).older
	}
	s := &series{older: e.series, warning: warning, reason: reason, action: action, first: true, pause: r.slack}
	e.series = s
	return s
}
