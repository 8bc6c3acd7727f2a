// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A replay is a book that a short input is played to, its clock, and the API
// server.
type replay struct {
	*book

	keys        []key // of the objects
	now         instant
	generations []int64
	running     []*write
	requests    []made
	server      []storedEvent
	taken       int    // requests, by the server
	last        []told // by object
	problems    []string
}

// made is a request that was made; done is never while it is under way.
type made struct {
	write       *write
	begun, done instant
}

// A storedEvent is what the API server has.
type storedEvent struct {
	object       key
	reason, text string
	number       int64
	count        int64
	seen         instant
	made, wrote  int  // how many requests the server had taken at the first and the last write
	isGone       bool // its TTL is over
}

// told is the last record about an object.
type told struct {
	texts  map[string]string // by reason
	reason string            // a failure or a recovery
}

// A response is what happens to a request.
type response struct {
	name     string
	reply    reply
	isStored bool // although the answer may say otherwise
	silent   bool
}

func newReplay(p plan, seed maphash.Seed) *replay {
	r := &replay{book: newBook(p.bounds), now: 1}
	r.seed = seed
	for _, name := range p.objects {
		r.keys = append(r.keys, key{kind: "Run", namespace: name[:1], name: name[2:]})
		r.generations = append(r.generations, 1)
		r.last = append(r.last, told{texts: map[string]string{}})
	}
	return r
}

func (r *replay) complain(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// occur records an occurrence of the object with a number.
func (r *replay) occur(number int, o occurrence) {
	k := r.keys[number]
	r.now++ // no two calls are at the same instant
	o.key = k
	o.controller = "runs"
	o.action = reconcile
	o.generation = r.generations[number]
	recorded := r.stats.Recorded
	if o.kind == recovery {
		r.recovered(r.now, &o)
	} else {
		o.ref = &corev1.ObjectReference{APIVersion: "v1", Kind: "Run", Namespace: k.namespace, Name: k.name}
		o.hash = maphash.String(r.seed, o.text)
		o.isClean = true
		r.record(r.now, 0, &o)
	}
	if r.stats.Recorded == recorded {
		return
	}
	r.last[number].texts[o.reason] = o.text
	if o.kind != plain {
		r.last[number].reason = o.reason
	}
}

// step begins the next request. If there is none, time passes until there may
// be one. It returns false if there never is.
func (r *replay) step() bool {
	urgent := r.urgent()
	w, at := r.next(r.now, int64(r.now))
	switch {
	case w != nil:
		r.begun(w, urgent)
		return true
	case at == never:
		return false
	case at <= r.now:
		r.complain("next asks again at an instant that is over")
		return false
	}
	r.now = at
	return true
}

// urgent returns the objects whose first Warning may be written now.
func (r *replay) urgent() (found []*object) {
	for _, k := range r.keys {
		o := r.objects[k]
		if o == nil || o.busy || o.limiter.ready(r.now) > r.now {
			continue
		}
		n := o.namespace
		isPaced := n.suspect && (n.busy > 0 || n.resume > r.now || r.pace.ready(r.now) > r.now)
		if isPaced || n.busy == perNamespace {
			continue
		}
		if slices.ContainsFunc(o.series, func(s *series) bool { return r.isUrgent(o, s) }) {
			found = append(found, o)
		}
	}
	return found
}

func (r *replay) isUrgent(o *object, s *series) bool {
	if s.waiting.n == 0 || s.class() != firstWarning {
		return false
	}
	first := o.firstOf(s)
	return max(s.wait.over(r.flushing > 0), first.wait.over(true)) <= r.now
}

// begun holds a request to the caps.
func (r *replay) begun(w *write, urgent []*object) {
	if w.series.isKnown && !slices.Contains(urgent, w.object) && len(urgent) > 0 {
		r.complain("a first Warning of %s waits behind an update of %s", urgent[0].ref.Name, w.object.ref.Name)
	}
	r.running = append(r.running, w)
	of := 0
	at := []int{}
	for i, earlier := range r.requests {
		span := r.now.since(earlier.begun)
		most := r.bounds.total.burst + int(span/r.bounds.total.interval)
		if len(r.requests)-i+1 > most {
			r.complain("%d requests in %v", len(r.requests)-i+1, span)
		}
		if earlier.write.object == w.object {
			of++
			at = append(at, i)
		}
	}
	r.requests = append(r.requests, made{w, r.now, never})
	n := objectCap
	if of < n {
		return
	}
	// The server may have got the first one when it was done.
	if r.now.since(r.requests[at[of-n]].done) < time.Minute {
		r.complain("%d requests about %s within a minute", n+1, w.object.ref.Name)
	}
}

// end has a running request end. Requests that the server takes are refused if
// the name of the Event is taken, or if the Event to update is absent.
func (r *replay) end(number int, how response) {
	w := r.running[number]
	r.running = slices.Delete(slices.Clone(r.running), number, number+1)
	for i := range r.requests {
		if r.requests[i].write == w {
			r.requests[i].done = r.now
		}
	}
	got := how.reply
	if how.isStored {
		stored := r.store(w)
		if got == written {
			got = stored
		}
	}
	r.done(r.now, w, answer{reply: got, silent: how.silent, why: how.name})
}

func (r *replay) store(w *write) reply {
	r.taken++
	at := slices.IndexFunc(r.server, func(e storedEvent) bool { return e.number == w.number })
	switch {
	case w.draft == nil && (at < 0 || r.server[at].isGone):
		return eventGone
	case w.draft == nil:
		r.server[at].count = w.count
		r.server[at].seen = w.seen
		r.server[at].wrote = r.taken
		return written
	case at >= 0:
		return nameTaken
	}
	r.server = append(r.server, storedEvent{
		object: keyOf(&w.object.ref), reason: w.series.reason, text: w.draft.text,
		number: w.number, count: w.count, seen: w.seen, made: r.taken, wrote: r.taken,
	})
	return written
}

// check returns what is wrong now.
func (r *replay) check() []string {
	problems := slices.Concat(r.problems, r.wrong())
	var reported int64
	for _, e := range r.server {
		reported += e.count
	}
	counted := r.stats.Written + r.stats.Coalesced
	if reported < counted {
		problems = append(problems, fmt.Sprintf("Events report %d, the book %d", reported, counted))
	}
	return problems
}

// A server that is well again has the book come to rest in at most so many
// steps and so long a time.
const (
	maxHealing  = 60
	healingTime = 10 * time.Minute
)

// heal has the server take every request, until nothing is left to write.
func (r *replay) heal() []string {
	if r.flushing > 0 {
		r.unflush(r.now)
	}
	from := r.now
	for range maxHealing {
		r.endAll()
		if !r.step() {
			r.rest(from)
			return r.check()
		}
	}
	return append(r.check(), "the book does not come to rest")
}

// endAll has the server take every request.
func (r *replay) endAll() {
	for len(r.running) > 0 {
		r.end(0, response{reply: written, isStored: true})
	}
}

// outage is ten minutes long. Some requests fail, others succeed. The second
// object has something to write in each minute.
func (r *replay) outage(fails func(*write) bool) {
	until := r.now.add(10 * time.Minute)
	next := r.now
	for r.now < until {
		if r.now >= next {
			next = r.now.add(time.Minute)
			r.occur(1, occurrence{identity: identity{eventtype: corev1.EventTypeNormal, reason: started}, text: "started"})
		}
		for len(r.running) > 0 {
			how := response{reply: written, isStored: true}
			if fails(r.running[0]) {
				how = response{reply: serverFails}
			}
			r.end(0, how)
		}
		if !r.step() {
			r.now = next
		}
	}
}

// stop has the server take every request of a stop. Whether all is written now,
// and later, is what the book said before.
func (r *replay) stop(now, later bool) []string {
	from := r.now
	began := len(r.running) > 0
	for range maxHealing {
		isNew := slices.ContainsFunc(r.running, func(w *write) bool { return w.draft != nil })
		if isNew && later {
			r.complain("all is written, and a new Event is under way at %v", r.now.since(from))
		}
		if isNew && now && r.now == from {
			r.complain("all that can be is written, and a new Event is under way")
		}
		r.endAll()
		if !r.step() {
			break
		}
		began = began || len(r.running) > 0
	}
	if !later && !began {
		r.complain("something is to be written, and no request follows")
	}
	return r.problems
}

// rest checks an idle book against the records: nothing is pending, and the
// Events are right. It checks no Event if anything was lost or suppressed.
func (r *replay) rest(from instant) {
	if r.stats.Pending > 0 {
		r.complain("%d pending at rest", r.stats.Pending)
	}
	if r.now.since(from) > healingTime {
		r.complain("the last write is %v after the server is well", r.now.since(from))
	}
	if len(r.losses) > 0 || r.stats.Suppressed > 0 {
		return
	}
	for i, k := range r.keys {
		r.restOf(k, r.last[i].texts, r.last[i].reason)
	}
}

// restOf checks the Events of an object: the latest of each reason has the
// latest note, and the last one shows whether it is failing or has recovered.
func (r *replay) restOf(k key, texts map[string]string, is string) {
	for reason, text := range texts {
		got := r.latest(k, reason)
		if got.text != text {
			r.complain("the latest note of %s about %s is %q, not %q", reason, k.name, got.text, text)
		}
	}
	if is == "" {
		return
	}
	shown := r.latest(k, away, Recovered)
	if shown.reason != is {
		r.complain("%s shows %s last, not %s", k.name, shown.reason, is)
	}
	for _, e := range r.server {
		isContrary := e.object == k && e.reason != is && e.reason != started
		if isContrary && e.made > shown.wrote {
			r.complain("%s of %s is stored after %s, which is true", e.reason, k.name, is)
		}
	}
}

// latest returns the Event of an object that was seen last.
func (r *replay) latest(k key, reasons ...string) (found storedEvent) {
	for _, e := range r.server {
		if e.object == k && slices.Contains(reasons, e.reason) && e.seen > found.seen {
			found = e
		}
	}
	return found
}
