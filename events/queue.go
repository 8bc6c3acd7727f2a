// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "time"

// settle puts e where it belongs at now: on a queue when something of it may be written, among the timers when something may
// be written later, and on the idle list when it may make room for others. mu must be held.
func (r *Recorder) settle(e *entry, now time.Duration) {
	if e.busy || r.closed {
		return
	}
	s, at := e.work(now, r.slack, r.hurry > 0)
	queue := &r.updates
	if s != nil && s.first {
		queue = &r.fresh
	}
	if s != nil && at <= now {
		r.later.remove(e)
		if e.on != queue { // who waits keeps its place
			e.unlink()
			queue.pushBack(e)
		}
		r.notify()
		return
	}
	e.unlink()
	r.later.remove(e)
	if s != nil {
		e.at = at
		r.later.add(e)
		if r.later[0] == e {
			r.notify()
		}
	}
	switch {
	case e.claimed():
	case e.forgotten && s == nil && e.bucket.full(now):
		r.remove(e)
	case e.forgotten && s == nil:
		e.series = nil // of which nothing is pending
		r.idle.pushBack(e)
	default:
		r.idle.pushFront(e)
	}
}

// makeRoom reports whether there is room for one more object: an idle one leaves for it, or else one that has nothing but an
// update to write.
func (r *Recorder) makeRoom(now time.Duration) bool {
	if e := r.idle.back; e != nil && e.forgotten && e.bucket.full(now) {
		r.remove(e)
	}
	if len(r.entries) < r.o.MaxObjects {
		return true
	}
	victim := r.idle.back
	for e := r.updates.front; e != nil && victim == nil; e = e.next {
		if e.drafting == 0 {
			victim = e
		}
	}
	if victim == nil {
		return false
	}
	r.stats.Evicted++
	r.remove(victim)
	return true
}

// remove forgets e. Occurrences of an Event that is stored are suppressed, others are lost.
func (r *Recorder) remove(e *entry) {
	for s := e.series; s != nil; s = s.older {
		if s.draft == nil && s.event != 0 {
			r.suppress(s.pending)
		} else {
			r.lose(queueFull, s.pending, "raise Options.MaxObjects or Options.TotalPerSecond")
		}
		s.pending = 0
	}
	e.unlink()
	r.later.remove(e)
	delete(r.entries, e.ref.key())
	r.signal()
}

// next returns the write to make now. When there is none, it returns how long to wait before asking again; negative means
// until notified. mu must be held.
func (r *Recorder) next(now time.Duration) (*job, time.Duration) {
	if r.closed {
		return nil, -1 // settle moves nothing any more
	}
	for len(r.later) > 0 && r.later[0].at <= now {
		r.settle(r.later[0], now)
	}
	if r.writing >= workers {
		return nil, -1
	}
	if len(r.retries) == 0 && r.fresh.len == 0 && r.updates.len == 0 {
		if len(r.later) == 0 {
			return nil, -1
		}
		return nil, max(r.later[0].at, r.resume) - now
	}
	if at := max(r.resume, r.total.ready(now)); at > now {
		return nil, at - now
	}
	j := r.pick(now)
	if j == nil {
		return nil, 0
	}
	r.total.take(now)
	r.writing++
	if len(r.retries)+r.fresh.len+r.updates.len > 0 {
		r.notify()
	}
	return j, 0
}

// pick takes a job: one that failed before, else a first occurrence, else an update. One that failed and first occurrences take turns,
// for it may be the Event that the server cannot take, and not the server that fails.
func (r *Recorder) pick(now time.Duration) *job {
	if r.retried = len(r.retries) > 0 && (!r.retried || r.fresh.front == nil); r.retried {
		j := r.retries[0]
		r.retries = r.retries[1:]
		j.again = true
		r.retrying++
		r.stats.Retried++
		return j
	}
	e := r.fresh.front
	if e == nil {
		e = r.updates.front
	}
	e.unlink()
	s, at := e.work(now, r.slack, r.hurry > 0)
	if s == nil || at > now {
		r.settle(e, now)
		return nil
	}
	e.busy, s.busy = true, true
	j := r.spare
	if r.spare = nil; j == nil {
		j = new(job)
	}
	*j = job{e: e, s: s, draft: s.draft, carried: s.pending, begun: now, probe: len(r.retries)+r.retrying > 0}
	if j.draft != nil {
		j.number, j.unsure = j.draft.number, j.draft.unsure
		if j.unsure {
			j.carried = j.draft.carried // later ones are told by an update
		}
	}
	return j
}

// notify wakes a worker. It never blocks.
func (r *Recorder) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// watch returns a channel that is closed when a write ends or an object leaves. mu must be held.
func (r *Recorder) watch() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// signal closes the channel of watch. mu must be held.
func (r *Recorder) signal() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
