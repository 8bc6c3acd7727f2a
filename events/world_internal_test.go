// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A world is a book, a clock, and an API server with given answers.
type world struct {
	*book

	now      instant
	pick     uint64              // the next random number
	answers  map[string]response // of the server, by "namespace", "group" or "namespace group"; empty is written
	few      map[string]int      // how many of these answers are left; none where they go on
	took     time.Duration       // by each request
	asks     time.Duration       // to be left alone after a failure
	isHeld   bool                // requests stay under way until they are answered
	held     []*write            // requests that are under way
	sent     []sent
	stored   map[int64]int64 // the counts of Events, by number
	taken    map[int64]bool  // numbers in names that are taken
	wake     instant         // until when the worker sleeps, if nothing changes
	logged   []string        // lines
	problems []string
}

// sent is a request that was made.
type sent struct {
	key key
	at  instant
}

// maxInstants is how often the book may ask for attention in one run.
const maxInstants = 200_000

func newWorld(b bounds) *world {
	return &world{
		book: newBook(b), now: 1, answers: map[string]response{}, few: map[string]int{},
		stored: map[int64]int64{}, taken: map[int64]bool{},
	}
}

func sceneBounds() bounds {
	return bounds{
		objects:   8192,
		series:    maxReasons,
		perObject: perMinute(5),
		total:     perSecond(20, 5),
		pace:      perSecond(10, 1),
		pause:     12 * time.Second,
		longest:   longestQuiet,
		retry:     retryTimeout,
		namespace: "default",
	}
}

// occurrence returns one of an object: its kind, its type, its reason and its
// text.
func (w *world) occur(o occurrence, namespace, name string) {
	ref := corev1.ObjectReference{APIVersion: "v1", Kind: "Run", Namespace: namespace, Name: name}
	o.key = keyOf(&ref)
	o.controller = cmp.Or(o.controller, "runs")
	o.action = cmp.Or(o.action, o.reason)
	o.hash = maphash.String(w.seed, o.text)
	w.pick++
	w.now++ // no two calls are at the same instant
	isWaiting := w.flushing > 0 && w.stats.Pending > 0
	if !w.record(w.now, w.pick, &o) {
		o.ref = &ref
		o.isClean = true
		if !w.record(w.now, w.pick, &o) {
			w.problems = append(w.problems, "an object with a reference was not recorded")
		}
	}
	if isWaiting && w.stats.Pending == 0 && !w.isChanged {
		w.problems = append(w.problems, "a Flush is done and not woken")
	}
}

// run lets time pass. It calls each for each request, with its answer. Like a
// worker of a Recorder, it sleeps until the instant that the book named last,
// or until the book says that something has changed.
func (w *world) run(until instant, each func(*write, response)) {
	for range maxInstants {
		if !w.isChanged {
			w.now = max(w.now, min(w.wake, until))
		}
		if !w.isChanged && w.now < w.wake {
			return
		}
		w.isChanged = false
		req, at := w.next(w.now, int64(w.now))
		w.wake = min(at, w.logLosses())
		if req != nil {
			w.begin(req, each)
			continue
		}
		if w.wake <= w.now {
			w.problems = append(w.problems, fmt.Sprintf("next asks again at %v, which is over", at.since(1)))
			return
		}
	}
	w.problems = append(w.problems, "the book does not come to rest")
}

// isUnderWay is in place of an answer that has not come yet.
var isUnderWay = response{name: "under way"}

func (w *world) begin(req *write, each func(*write, response)) {
	w.sent = append(w.sent, sent{keyOf(&req.object.ref), w.now})
	if req.draft != nil && w.taken[req.number] {
		w.problems = append(w.problems, "a name that is taken is tried again")
	}
	if w.isHeld {
		w.held = append(w.held, req)
		each(req, isUnderWay)
		return
	}
	w.now = w.now.add(w.took)
	w.end(req, w.answer(req), each)
}

// end gives req its answer.
func (w *world) end(req *write, got response, each func(*write, response)) {
	number := req.number
	if got.reply == written {
		w.stored[number] = req.count
	}
	if got.reply == nameTaken {
		w.taken[number] = true
	}
	each(req, got)
	d := w.done(w.now, req, answer{reply: got.reply, silent: got.silent, why: groupOf(req) + " says " + nameOf(got), retryAfter: w.asks})
	if d != nil {
		w.logged = append(w.logged, fmt.Sprintf("%s core for %v, %d times: %s", shown(w.now), d.length, d.count, d.why))
	}
}

// logLosses logs what is due. It returns when more is.
func (w *world) logLosses() instant {
	lines, next := w.losses.unlogged(w.now, w.closed)
	slices.SortFunc(lines, func(a, b loss) int { return cmp.Compare(a.cause, b.cause) })
	for _, l := range lines {
		w.logged = append(w.logged, fmt.Sprintf("%s %s %d, %d in all: %s", shown(w.now), l.cause, l.unlogged, l.total, l.detail))
	}
	return next
}

// answer returns what the server says to req.
func (w *world) answer(req *write) response {
	group := groupOf(req)
	name := req.object.namespace.name
	for _, who := range []string{name + " " + group, name, group, "all"} {
		got, ok := w.answers[who]
		if !ok {
			continue
		}
		n, isFew := w.few[who]
		if isFew && n == 0 {
			continue
		}
		if isFew {
			w.few[who]--
		}
		return got
	}
	return replies["ok"]
}

func groupOf(req *write) string {
	if req.core {
		return "core"
	}
	return "events"
}

// check returns what is wrong: in the book, and with the caps.
func (w *world) check() []string {
	problems := slices.Concat(w.problems, w.wrong())
	byObject := map[key][]instant{}
	for _, s := range w.sent {
		byObject[s.key] = append(byObject[s.key], s.at)
	}
	n := w.perMinute()
	for _, k := range slices.SortedFunc(maps.Keys(byObject), func(a, b key) int { return cmp.Compare(a.name, b.name) }) {
		at := byObject[k]
		for i := n; i < len(at); i++ {
			if at[i].since(at[i-n]) < time.Minute {
				problems = append(problems, fmt.Sprintf("%d requests about %s within a minute", n+1, k.name))
				break
			}
		}
	}
	total := w.bounds.total
	for i := total.burst; i < len(w.sent); i++ {
		span := w.sent[i].at.since(w.sent[i-total.burst].at)
		if span+time.Microsecond < total.interval {
			problems = append(problems, fmt.Sprintf("%d requests within %v", total.burst+1, span))
			break
		}
	}
	return problems
}

// perMinute computes the cap of an object from its limit.
func (w *world) perMinute() int {
	for n := 1; ; n++ {
		if perMinute(n) == w.bounds.perObject {
			return n
		}
	}
}
