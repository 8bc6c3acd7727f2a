// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events/internal/caller"
	"github.com/proompteng/controllerkit/events/redact"
)

const (
	maxSeries       = 64               // of an object
	seriesPerObject = 4                // of all objects, in the mean
	maxReasons      = 8                // of an object, that have an Event without a token for it
	newEventsBurst  = 10               // of an object, and then
	newEventsEvery  = 5 * time.Minute  // one each
	longestPause    = 10 * time.Minute // between two updates of a count
	routineTime     = 2 * time.Minute  // in which conflicts in a row are routine
)

// An object is what a Recorder keeps about one object. One worker at a time
// writes about it.
type object struct {
	key       caller.Key
	ref       corev1.ObjectReference
	namespace *namespace
	requests  *rate.Limiter
	newEvents *rate.Limiter
	reasons   []string // that had their first Event without a token of newEvents
	episodes  []*episode
	series    []*series

	failures  int       // requests in a row
	failing   time.Time // the first of them
	retry     time.Time // no request before it
	isRefused bool      // by events.k8s.io: core/v1 is tried next

	planned  time.Time    // when the queue has it; zero for never
	writing  *write       // the request under way, or nil
	isParked bool         // it waits in the list of its namespace
	isGone   bool         // it was evicted
	line     atomic.Int32 // of the queue
	ticket   uint64       // in the queue
	queuedIn int32        // likewise, where it is
}

// An episode is a failure of an object that one controller reports.
type episode struct {
	controller string
	failure    string    // the reason that Recovered will name; empty while none is open
	conflicts  time.Time // the first of the conflicts in a row that opened no failure

	failureNumber int // of the open failure, or the last one
}

// An identity and an about distinguish the series of one object.
type identity struct {
	controller, eventtype, reason, action string

	kind kind
}

// An about has the other references of an Event.
type about struct {
	related   corev1.ObjectReference
	fieldPath string
}

// A series is what happens to an object under one identity.
type series struct {
	identity

	about *about // nil where there is neither a related object nor a field path

	text        string // of the last occurrence
	hash        uint64 // of that text as it was recorded
	annotations map[string]string
	n           int64 // occurrences that no Event reports
	since, last time.Time
	order       time.Time // the oldest series is written first: since it waits, or was tried

	failureNumber int // of the last occurrence; zero if plain

	isChange bool // an occurrence that is a new Event waits, because the object failed again
	stored   stored
	unsure   stored // an Event whose creation had no answer
	isOld    bool   // the object has recovered and failed since the first attempt of its Event
	pause    time.Duration
	due      time.Time // no count is written before it, and no first Event
}

// stored is what the API server has of a series.
type stored struct {
	number int64 // in the name of the Event; 0 while there is none
	count  int64
	hash   uint64
}

// An occurrence is one call that records.
type occurrence struct {
	identity

	key           caller.Key
	about         about
	isConflict    bool
	failureNumber int    // zero if plain
	hash          uint64 // of the text as it was recorded
	ref           *corev1.ObjectReference
	text          string // clean
	annotations   map[string]string
	isClean       bool // ref, text and annotations are set
}

// A kind is what an occurrence says of an object.
type kind uint8

const (
	plain   kind = iota
	failure      // opens a failure that Recovered will end
	recovery
)

// record counts an occurrence. It returns false, and counts nothing, if the
// object or the text is new and o is not clean yet.
func (e *engine) record(o *occurrence) bool {
	now := time.Now()
	found := e.objects[o.key]
	if !o.isClean && !found.knows(o) {
		return false
	}
	e.stats.Recorded++
	if e.isClosed {
		e.lose(LostShutdown, 1, afterStart)
		return true
	}
	if found == nil {
		found = e.admit(o)
	}
	if found != nil {
		e.count(found, o, now)
	}
	return true
}

// recovered ends the failure of an object, if one is open.
func (e *engine) recovered(o *occurrence) {
	found := e.objects[o.key]
	if found == nil {
		return
	}
	ep := found.episode(o.controller)
	if ep == nil {
		return
	}
	from := ep.failure
	ep.failure = ""
	ep.conflicts = time.Time{}
	if from == "" {
		return
	}
	asIs := func(reason string) string { return reason }
	o.text = redact.Note("recovered from "+from, asIs)
	o.isClean = true
	o.failureNumber = ep.failureNumber
	e.stats.Recorded++
	e.count(found, o, time.Now())
}

// count adds an occurrence to its series.
func (e *engine) count(obj *object, o *occurrence, now time.Time) {
	if o.kind == failure {
		ep := obj.begin(o.controller)
		if o.isConflict && ep.isRoutine(now) {
			return
		}
		if ep.failure == "" {
			ep.failureNumber++
			e.dropRecovery(obj, o.controller)
		}
		if !o.isConflict {
			ep.conflicts = time.Time{}
		}
		ep.failure = o.reason
		o.failureNumber = ep.failureNumber
	}
	s := obj.find(o)
	if s == nil {
		s = e.open(obj, o)
	}
	if s == nil {
		e.lose(LostSeriesFull, 1, tooManySeries)
		e.schedule(obj, now)
		return
	}
	s.add(o, now, e.firstPause())
	e.stats.Pending++
	e.schedule(obj, now)
}

// isRoutine reports whether a retry is expected to resolve a conflict.
func (ep *episode) isRoutine(now time.Time) bool {
	if ep.conflicts.IsZero() {
		ep.conflicts = now
	}
	return now.Sub(ep.conflicts) < routineTime
}

// dropRecovery drops a recovery that waits: the object fails again.
func (e *engine) dropRecovery(o *object, controller string) {
	for _, s := range o.series {
		if s.kind == recovery && s.controller == controller {
			e.stats.Pending -= s.n
			s.n = 0
			s.unsure = stored{}
		}
	}
}

func (e *engine) firstPause() time.Duration {
	return min(time.Minute/time.Duration(e.o.WritesPerMinute), longestPause)
}

// episode returns the episode of controller, or nil.
func (o *object) episode(controller string) *episode {
	for _, ep := range o.episodes {
		if ep.controller == controller {
			return ep
		}
	}
	return nil
}

// begin returns the episode of controller, a new one if there was none.
func (o *object) begin(controller string) *episode {
	ep := o.episode(controller)
	if ep == nil {
		ep = &episode{controller: controller}
		o.episodes = append(o.episodes, ep)
	}
	return ep
}

// find returns the series of an occurrence, or nil.
func (o *object) find(occ *occurrence) *series {
	for _, s := range o.series {
		if s.identity == occ.identity && s.isAbout(occ.about) {
			return s
		}
	}
	return nil
}

func (s *series) isAbout(a about) bool {
	if s.about == nil {
		return a == about{}
	}
	return *s.about == a
}

// knows reports whether o has the text of an occurrence, as an Event shows it.
func (o *object) knows(occ *occurrence) bool {
	if o == nil {
		return false
	}
	s := o.find(occ)
	return s != nil && s.hash == occ.hash
}
