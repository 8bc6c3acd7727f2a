// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Recorder records Events about objects and never blocks on the API server.
// It fits k8s.io/client-go/tools/events EventRecorder, and [Recorder.RunWith]
// fits controller-runtime's manager. All methods are safe for concurrent use,
// and do nothing on a nil *Recorder. Make one with [New]; it must not be
// copied.
type Recorder struct {
	sink       *Sink
	controller string
	o          Options
	perObject  limit
	pause      time.Duration // the first one between two writes of a series
	seed       maphash.Seed
	start      time.Time     // what instants count from; its monotonic clock never steps back
	wake       chan struct{} // one message for each worker that may look for work
	buffers    sync.Pool     // of *[]byte, to format notes in

	mu              sync.Mutex
	entries         map[key]*entry
	idle            list // entries that may make room, the most recently used first
	normals         list // entries that make room for Warnings only
	plan            schedule
	running, closed bool
	flushers        int   // how many callers want every count written now
	lastNumber      int64 // in the name of an Event
	changed         chan struct{}
	accounts
}

// New returns a Recorder that writes to sink as controller, which becomes the
// reportingController of its Events: a qualified name such as
// "agents.example.com/agentrun". It starts nothing: events are kept, within
// MaxObjects, until [Recorder.Start] or [Recorder.Flush] writes them. A sink
// without a client, a name the API server refuses and an option out of range
// are errors. New reports all of them.
func New(sink *Sink, controller string, o Options) (*Recorder, error) {
	var noClient error
	if !sink.usable() {
		noClient = errors.New("events: the sink has no client; make one with NewSink")
	}
	if err := errors.Join(noClient, checkController(controller), o.check()); err != nil {
		return nil, err
	}
	o = o.resolved()
	return &Recorder{
		sink:       sink,
		controller: controller,
		o:          o,
		perObject:  perMinute(o.WritesPerMinute),
		pause:      min(time.Minute/time.Duration(o.WritesPerMinute), o.MaxUpdateInterval),
		seed:       maphash.MakeSeed(),
		start:      time.Now(),
		wake:       make(chan struct{}, workers),
		entries:    make(map[key]*entry),
		plan:       schedule{lanes: make(map[string]*lane)},
	}, nil
}

// total and pace are the limits of all requests, and of those in suspect lanes.
func (r *Recorder) total() limit { return perSecond(r.o.TotalWritesPerSecond, 5) }
func (r *Recorder) pace() limit  { return perSecond(r.o.TotalWritesPerSecond/2, 1) }

// Eventf records an Event about regarding. Occurrences of one type, reason,
// action, related object and field path about one object form a series. The
// Recorder writes the first immediately, or as soon as the object's cap allows.
// It counts repeats, and writes their number when the pause of the series ends.
// If the note has changed by then, the last note becomes a new Event. Words
// that look generated, such as UIDs and the names of pods, do not count as a
// change.
//
// eventtype is Normal or Warning. reason is 1 to 128 bytes, action at most 128,
// and an empty action becomes the reason. related may be nil. note is a format
// of package fmt; without args only %% is replaced, by %. An event that
// cannot be recorded is counted in [Stats] by its cause and logged.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.AnnotatedEventf(regarding, related, nil, eventtype, reason, action, note, args...)
}

// AnnotatedEventf is [Recorder.Eventf] with annotations on the Event. A repeat
// that is only counted does not add its annotations. Their values are cleaned
// as notes are: redacted, on one line, at most 1,024 bytes.
func (r *Recorder) AnnotatedEventf(
	regarding, related runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any,
) {
	if r == nil || r.o.Disabled {
		return
	}
	o := occurrence{
		regarding: regarding, related: related, annotations: annotations,
		eventtype: eventtype, id: identity{reason: reason, action: action},
	}
	if len(args) == 0 {
		o.whole = strings.ReplaceAll(note, "%%", "%")
	} else {
		o.text = r.buffer()
		defer r.buffers.Put(o.text)
		*o.text = fmt.Appendf(*o.text, note, args...)
	}
	r.record(&o)
}

// Forget drops what is kept about obj; call it when the object is gone. Events
// that wait are still written. Forgetting does not lift the cap: unless its
// bucket is full, the object is only the next to make room for others.
func (r *Recorder) Forget(obj runtime.Object) {
	if r == nil || r.o.Disabled {
		return
	}
	k, err := identify(obj, r.o.Scheme)
	if err != nil {
		return
	}
	now := r.now()
	r.locked(func() {
		if e := r.entries[k]; e != nil {
			e.forgotten = true
			e.lastFailure, e.conflicted = "", 0
			r.settle(e, now)
		}
	})
}

func (r *Recorder) now() instant { return instant(time.Since(r.start)) + 1 }

// locked calls f under mu, and then OnResult without it: a hook may call the
// Recorder.
func (r *Recorder) locked(f func()) {
	r.mu.Lock()
	f()
	n := r.unreported
	r.unreported = [resultKinds]int64{}
	r.mu.Unlock()
	if r.o.OnResult == nil {
		return
	}
	for i, result := range results() {
		if n[i] > 0 {
			r.o.OnResult(result, n[i])
		}
	}
}

// An occurrence is one call that records.
type occurrence struct {
	regarding, related runtime.Object
	annotations        map[string]string
	eventtype          string
	id                 identity
	text               *[]byte // the note; nil where it was a string before
	whole              string
	hash               uint64
	failure            bool // opens a failure that Recovered will end
	recovery           bool
	terminal           bool // a changed note does not wait for the end of the pause
	routine            bool // a failure that only counts if it lasts
}

func (r *Recorder) record(o *occurrence) {
	if o.id.action == "" {
		o.id.action = o.id.reason
	}
	o.id.warning = o.eventtype == corev1.EventTypeWarning
	o.id.about = r.aboutKey(o)
	o.hash = r.hash(o)
	k, err := identify(o.regarding, r.o.Scheme)
	c, problem := noReference, err
	if err == nil {
		c, problem = rejected, o.check()
	}
	now := r.now()
	known := true
	r.locked(func() {
		switch {
		case r.closed:
			r.stats.Recorded++
			r.lose(shutdown, 1, ended)
		case problem != nil:
			r.stats.Recorded++
			r.lose(c, 1, problem.Error())
		case r.entries[k] == nil:
			known = false
		default:
			r.stats.Recorded++
			r.count(r.entries[k], o, now)
		}
	})
	if known {
		return
	}
	ref, err := refer(o.regarding, r.o.Scheme) // not under mu: the scheme has locks
	r.locked(func() {
		r.stats.Recorded++
		switch {
		case r.closed:
			r.lose(shutdown, 1, ended)
		case err != nil:
			r.lose(noReference, 1, err.Error())
		default:
			if e := r.entry(ref, o.id.warning, now); e != nil {
				r.count(e, o, now)
			} else {
				r.lose(queueFull, 1, noRoom)
			}
		}
	})
}

const ended = "recorded after Start had returned"

// check says what the API server would refuse.
func (o *occurrence) check() error {
	switch {
	case o.eventtype != corev1.EventTypeWarning && o.eventtype != corev1.EventTypeNormal:
		return errors.New("the event type is neither Normal nor Warning")
	case o.id.reason == "" || len(o.id.reason) > maxReason:
		return errors.New("the reason is empty or longer than 128 bytes")
	case len(o.id.action) > maxAction:
		return errors.New("the action is longer than 128 bytes")
	}
	return nil
}

// entry returns what is kept about the object, making room for it if need be;
// nil when it finds none.
func (r *Recorder) entry(ref reference, warning bool, now instant) *entry {
	if e := r.entries[ref.key()]; e != nil {
		return e
	}
	l := r.plan.enter(or(ref.namespace, r.o.Namespace))
	if !r.makeRoom(l, warning, now) {
		r.plan.leave(l)
		return nil
	}
	e := &entry{ref: ref, lane: l}
	r.entries[ref.key()] = e
	return e
}

// count adds an occurrence to its series.
func (r *Recorder) count(e *entry, o *occurrence, now instant) {
	e.forgotten = false
	if o.routine && r.passes(e, now) {
		r.suppress(1)
		r.settle(e, now)
		return
	}
	s := e.find(o.id)
	switch {
	case s == nil:
		if s = r.newSeries(e, o); s == nil {
			r.lose(queueFull, 1, manyReasons)
			return
		}
	case now.since(s.seen)/2 > r.o.MaxUpdateInterval && s.pending == 0:
		// Silent for so long that it is news again.
		s.first, s.hash, s.pause, s.due, s.refused = true, 0, r.pause, 0, 0
	}
	if o.failure {
		if e.lastFailure == "" {
			r.hasten(e, false, now)
		}
		e.lastFailure, s.open, s.state = o.id.reason, true, true
	}
	if s.refused != 0 && now < s.due {
		s.seen = now
		r.lose(s.refused, 1, "") // why, was said when the series was refused
		return
	}
	if s.pending == 0 {
		s.since = now
	}
	s.pending++
	s.seen = now
	r.pending++
	switch {
	case o.hash != s.hash:
		r.say(s, o, now)
		r.settle(e, now)
	case s.pending == 1:
		r.settle(e, now)
	case e.on == &r.idle:
		e.move(&r.idle, true)
	}
}

// say gives s the note of o. A draft that is being written is not touched.
func (r *Recorder) say(s *series, o *occurrence, now instant) {
	s.hash = o.hash
	if o.terminal {
		s.due = min(s.due, now)
	}
	s.draft = &draft{text: o.whole, annotations: cloned(o.annotations)}
	if o.text != nil {
		s.draft.text = string(*o.text)
	}
}
