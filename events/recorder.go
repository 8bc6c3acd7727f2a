// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"container/ring"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/internal/notehash"
	"github.com/proompteng/controllerkit/internal/isolate"
)

// A Recorder records Events about objects and never blocks on the API server.
// It fits k8s.io/client-go/tools/events EventRecorder, and [Recorder.RunWith]
// fits controller-runtime's manager. All methods are safe for concurrent use. A
// nil *Recorder records nothing. Make one with [New]; it must not be copied.
type Recorder struct {
	sink       *Sink
	controller string
	o          Options
	perObject  limit
	pause      time.Duration // the first one between two writes of a series
	seed       maphash.Seed
	start      time.Time // what instants count from; its monotonic clock never steps back

	mu              sync.Mutex
	changed         sync.Cond         // there may be work, or what a worker waits for
	entries         map[string]*entry // by the key of their objects
	idle            ring.Ring         // entries that may make room, the most recently used first
	normals         ring.Ring         // entries that make room for Warnings only
	plan            schedule
	running, closed bool
	unstarted       unstarted
	flushers        int   // how many callers want every count written now
	lastNumber      int64 // in the name of an Event
	stats, told     Stats // and what OnResult knows of them; Lost is in losses
	losses          map[string]*loss
	late            string // what to do about an event that was not written before Start ended

	hookFailed atomic.Bool // OnResult has panicked
}

// New returns a Recorder that writes to sink as controller, which becomes the
// reportingController of its Events: a qualified name such as
// "agents.example.com/agentrun". It starts nothing: events are kept, within
// MaxObjects, until [Recorder.Start] or [Recorder.Flush] writes them. A sink
// without a client, a name the API server refuses and an option out of range
// are errors. New reports all of them.
func New(sink *Sink, controller string, o Options) (*Recorder, error) {
	if err := errors.Join(sink.check(), checkController(controller), o.complete()); err != nil {
		return nil, err
	}
	r := &Recorder{
		sink:       sink,
		controller: controller,
		o:          o,
		perObject:  perMinute(o.WritesPerMinute),
		pause:      min(time.Minute/time.Duration(o.WritesPerMinute), o.MaxUpdateInterval),
		seed:       maphash.MakeSeed(),
		start:      time.Now(),
		entries:    make(map[string]*entry),
		losses:     make(map[string]*loss),
		late:       tooSlow,
		plan: schedule{
			lanes: make(map[string]*lane),
			total: perSecond(o.TotalWritesPerSecond, 5).full(),
			pace:  perSecond(o.TotalWritesPerSecond/2, 1).full(),
		},
	}
	r.changed.L = &r.mu
	return r, nil
}

// Eventf records an Event about regarding. Occurrences of one type, reason,
// action, related object and field path about one object form a series. The
// Recorder writes the first immediately, or as soon as the object's cap allows.
// It counts repeats, and writes their number when the pause of the series ends.
// If the note has changed since, the last note becomes a new Event, which
// counts the repeats with the old note too.
//
// Words that look generated do not count as a change. A word looks generated if
// it is part of a UUID, the five-character suffix of generateName, or 8 or more
// letters and digits in a row that are all digits, or in which a letter follows
// a digit at least twice.
//
// eventtype is Normal or Warning. reason is 1 to 128 bytes, action at most 128,
// and an empty action becomes the reason. related may be nil. A related object
// whose kind is unknown is left out. note is a format of package fmt; without
// args only %% is replaced, by %. An event that cannot be recorded is counted
// in [Stats] by its cause and logged.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.AnnotatedEventf(regarding, related, nil, eventtype, reason, action, note, args...)
}

// AnnotatedEventf is [Recorder.Eventf] with annotations on the Event. A repeat
// that is only counted does not add its annotations. Their values are cleaned
// as notes are: redacted, on one line, at most 1024 bytes.
func (r *Recorder) AnnotatedEventf(
	regarding, related runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any,
) {
	if r.off() {
		return
	}
	o := occurrence{
		regarding: regarding, related: related, annotations: annotations,
		identity: identity{eventtype: eventtype, reason: reason, action: action},
	}
	if len(args) == 0 {
		r.recordText(&o, strings.ReplaceAll(note, "%%", "%"))
		return
	}
	var buf [stackNote]byte
	r.record(&o, format(buf[:0], note, args...))
}

// Forget drops the series and the open failure of obj, but not its cap. Events
// that wait are still written. Call it from the delete handler of an informer:
// obj must have its uid, which a reconcile that gets NotFound does not know.
// Without Forget, the least recently used objects make room.
func (r *Recorder) Forget(obj runtime.Object) {
	if r.off() {
		return
	}
	r.known(obj, func(e *entry, now instant) {
		e.forgotten = true
		e.lastFailure, e.conflicted = "", 0
		r.settle(e, now)
	})
}

// known calls f under mu with the entry of obj, if there is one. An object that
// panics is counted as lost, or its bug would not be seen.
func (r *Recorder) known(obj runtime.Object, f func(e *entry, now instant)) {
	key, err := r.identify(obj)
	panicked := errors.Is(err, isolate.ErrPanic)
	r.locked(func() {
		e := r.entries[key]
		switch {
		case panicked:
			r.stats.Recorded++
			r.lose(LostNoReference, 1, err.Error())
		case err == nil && e != nil:
			f(e, r.now())
		}
	})
}

// off reports whether r was not made by New, or is disabled.
func (r *Recorder) off() bool { return r == nil || r.sink == nil || r.o.Disabled }

func (r *Recorder) now() instant { return instant(time.Since(r.start)) + 1 }

// locked calls f under mu, and then OnResult without it: a hook may call the
// Recorder. f calls none of the caller's code.
func (r *Recorder) locked(f func()) {
	was, is, due := r.underLock(f)
	if due {
		r.logUnstarted()
	}
	if r.o.OnResult == nil {
		return
	}
	emitted := is.Written - was.Written
	aggregated := is.Coalesced + is.Suppressed - was.Coalesced - was.Suppressed
	r.tell(ResultEmitted, emitted)
	r.tell(ResultAggregated, aggregated)
	r.tell(ResultDropped, is.Recorded-was.Recorded-emitted-aggregated-is.Pending+was.Pending)
}

// underLock calls f under mu. It returns the counts that OnResult knows, the
// counts of now, and whether to log that no caller has started r.
func (r *Recorder) underLock(f func()) (was, is Stats, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	was = r.told
	r.told = r.stats
	due = !r.unstarted.begun && r.unstarted.due(r.now(), r.stats.Pending, len(r.losses) > 0)
	return was, r.stats, due
}

// tell calls OnResult. Its first panic is logged.
func (r *Recorder) tell(result string, n int64) {
	if n <= 0 {
		return
	}
	err := r.hook(result, n)
	if err == nil || r.hookFailed.Swap(true) {
		return
	}
	r.logHook(err)
}

func (r *Recorder) hook(result string, n int64) (err error) {
	defer catch(r.o.OnResult, &err)
	r.o.OnResult(result, n)
	return nil
}

// An occurrence is one call that records.
type occurrence struct {
	regarding, related runtime.Object
	annotations        map[string]string
	identity
	about    about
	ref      corev1.ObjectReference // of regarding, once an entry needs it
	failure  bool                   // opens a failure that Recovered will end
	recovery bool
	terminal bool // a changed note does not wait for the end of the pause
	routine  bool // a failure that only counts if it lasts
}

const (
	stackNote = 1 << 10   // a repeat with a note of up to so many bytes costs no memory
	maxText   = 4<<10 + 1 // what is kept of a note: redact.Note looks at 4 KiB, and whether there is more
)

func (r *Recorder) recordText(o *occurrence, note string) {
	var buf [stackNote]byte
	r.record(o, append(buf[:0], note[:min(len(note), maxText)]...))
}

// record counts o, whose note is text. It keeps no reference to text.
func (r *Recorder) record(o *occurrence, text []byte) {
	if r.off() {
		return
	}
	text = text[:min(len(text), maxText)]
	o.action = cmp.Or(o.action, o.reason)
	o.about = r.aboutOf(o)
	key, err := r.identify(o.regarding)
	if err != nil {
		r.refused(LostNoReference, err)
		return
	}
	err = o.check()
	if err != nil {
		r.refused(LostRejected, err)
		return
	}
	if r.counted(key, o, text) {
		return
	}
	o.ref, err = r.refer(o.regarding)
	if err != nil {
		r.refused(LostNoReference, err)
		return
	}
	r.counted(keyOf(o.ref), o, text)
}

// counted counts o. It returns false, and counts nothing, if the object is new
// and o has no reference yet: to make one calls the caller's code.
func (r *Recorder) counted(key string, o *occurrence, text []byte) (ok bool) {
	r.locked(func() {
		now := r.now() // in the order of the calls, so no series ends before it begins
		e := r.entries[key]
		ok = r.closed || e != nil || o.ref.Kind != ""
		if !ok {
			return
		}
		r.stats.Recorded++
		if r.closed {
			r.lose(LostShutdown, 1, afterStart)
			return
		}
		r.count(e, o, text, now)
	})
	return ok
}

// refused counts an occurrence that cannot be recorded.
func (r *Recorder) refused(cause string, err error) {
	detail := err.Error()
	r.locked(func() {
		r.stats.Recorded++
		if r.closed {
			cause, detail = LostShutdown, afterStart
		}
		r.lose(cause, 1, detail)
	})
}

const afterStart = "recorded after Start had returned"

// check says what the API server would refuse.
func (o *occurrence) check() error {
	switch {
	case o.eventtype != corev1.EventTypeWarning && o.eventtype != corev1.EventTypeNormal:
		return fmt.Errorf("event type %.20q of reason %.40q is not accepted; want Normal or Warning", o.eventtype, o.reason)
	case o.reason == "" || len(o.reason) > maxName:
		return fmt.Errorf("reason %.40q has %d bytes; want 1 to %d", o.reason, len(o.reason), maxName)
	case len(o.action) > maxName:
		return fmt.Errorf("action %.40q of reason %.40q has %d bytes; want at most %d", o.action, o.reason, len(o.action), maxName)
	}
	return nil
}

// count adds an occurrence to its series. e is the entry of its object, nil if
// there is none.
func (r *Recorder) count(e *entry, o *occurrence, text []byte, now instant) {
	if e == nil {
		e = r.entry(o.ref, o.eventtype)
		if e == nil {
			r.lose(LostQueueFull, 1, noRoom)
			return
		}
	}
	e.forgotten = false
	switch {
	case o.routine:
		e.conflicted = cmp.Or(e.conflicted, now)
		if now.since(e.conflicted) < routineTime { // retries of most conflicts succeed
			r.stats.Suppressed++
			r.settle(e, now)
			return
		}
	case o.failure:
		e.conflicted = 0
	}
	s := e.find(o)
	switch {
	case s == nil:
		if s = r.newSeries(e, o); s == nil {
			r.lose(LostQueueFull, 1, manyReasons)
			return
		}
	case now.since(s.seen)/2 > r.o.MaxUpdateInterval && s.pending == 0:
		// Silent for so long that it is news again.
		s.first, s.hash, s.pause, s.due, s.refused = true, 0, r.pause, 0, ""
	}
	if o.failure {
		if e.lastFailure == "" {
			r.hasten(e, now)
		}
		e.lastFailure, s.state = o.reason, true
	}
	// The API server may take another text than the one that it found invalid.
	another := o.terminal && s.refused == LostRejected && maphash.Bytes(r.seed, text) != s.exact
	if s.refused != "" && now < s.due && !another {
		s.seen = now
		r.lose(s.refused, 1, "") // why, was said when the series was refused
		return
	}
	if s.pending == 0 {
		s.since = now
	}
	s.pending++
	s.seen = now
	r.stats.Pending++
	hash := s.hash
	if exact := maphash.Bytes(r.seed, text); exact != s.exact || hash == 0 {
		s.exact, hash = exact, notehash.Sum(r.seed, text)
	}
	switch {
	case hash != s.hash:
		// A draft that is being written is not touched.
		s.draft = &draft{text: string(text), annotations: maps.Clone(o.annotations)}
		for key, value := range o.annotations { // as little of them is written
			s.draft.annotations[key] = strings.Clone(value[:min(len(value), maxText)])
		}
		s.hash = hash
		if o.terminal {
			s.due = min(s.due, now)
		}
		r.settle(e, now)
	case s.pending == 1:
		r.settle(e, now)
	default:
		e.move(e.list)
	}
}
