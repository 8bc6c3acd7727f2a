// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "time"

// What a replica of the small world remembers.

// verb is what changes a past.
type verb int8

const (
	pastRemoved verb = iota
	pastBack
	pastShown
	pastSeen
	pastKept
	pastHalf
	pastLagged
	pastAged
)

// pastChange is a change of a past.
type pastChange struct {
	past     pastNumber
	index    int8
	verb     verb
	finished bool
	released bool
	notes    notesNumber
}

// change is the past after a change.
func (r *rules) change(c pastChange) pastNumber {
	out, known := r.changes[c]
	if !known {
		p := r.pasts.values[c.past]
		out = r.pasts.of(r.changed(p, c))
		r.changes[c] = out
	}
	return out
}

func (r *rules) changed(p past, c pastChange) past {
	last := Observation{State: Active}
	if c.finished {
		last = Observation{State: Finished, Outcome: Succeeded}
	}
	switch c.verb {
	case pastHalf:
		return half(p)
	case pastLagged:
		return aged(p, cacheLag+time.Second)
	case pastAged:
		return aged(p, time.Hour)
	default:
	}
	p.uid = jobUIDs[c.index]
	switch c.verb {
	case pastRemoved:
		return p.isRemoved(last, c.released, began)
	case pastBack:
		return p.isBack()
	case pastShown:
		p.given = wishNone
		return p
	case pastSeen:
		return p.sees(last)
	default:
		return p.keeps(r.notes.values[c.notes], began)
	}
}

// aged makes the times of a past old. A time that matters no longer is an hour
// old, so that pasts which behave alike are equal.
func aged(p past, by time.Duration) past {
	old := func(t *time.Time) {
		if !t.IsZero() {
			*t = began.Add(-time.Hour)
		}
	}
	old(&p.removed)
	old(&p.absent)
	old(&p.missed)
	old(&p.givenAt)
	p.given = wishNone
	if by > sentLately {
		p.sent = time.Time{}
		p.sentFor = jobFacts{}
	}
	return p
}

// half makes the times of a past older by a bit more than half of settleTime.
func half(p past) past {
	for _, t := range []*time.Time{&p.absent, &p.missed} {
		switch *t {
		case time.Time{}:
		case began:
			*t = began.Add(-settleTime * 6 / 10)
		default:
			*t = began.Add(-time.Hour)
		}
	}
	return p
}

// recall is a question to the memory.
type recall struct {
	past  pastNumber
	place int8 // the Job that the owner may have; 0 with a Ref
	empty bool // nothing is known of a Job
	wait  bool // a creation has got no answer
}

// remembers returns the memory that the replica gives to a machine. job is the
// Job in its Ref, or 0.
func (w *world) remembers(r *simReplica, job int8) memoryNumber {
	place := r.places[r.copied.uid]
	q := recall{}
	switch {
	case job != 0:
		q.past = r.pasts[job]
	case place.job != 0:
		q.past = r.pasts[place.job]
		q.place = place.job
	default:
		q.empty = true
		q.wait = place.unsure
	}
	out, known := w.rules.recalls[q]
	if !known {
		out = w.rules.memories.of(w.rules.recall(q))
		w.rules.recalls[q] = out
	}
	return out
}

// recall is what the machine learns.
func (r *rules) recall(q recall) recollection {
	out := recollection{unsure: q.wait}
	if !q.empty {
		out = r.pasts.values[q.past].at(began)
	}
	if q.place != 0 {
		out.uid = jobUIDs[q.place]
	}
	if !r.informer {
		out.eventOver = true // no event comes
	}
	return out
}

// keep takes the machine to where it went, and remembers what it has noted.
func (w *world) keep(r *simReplica, did did) {
	r.m = did.m
	if did.notes == 0 {
		return
	}
	n := &w.rules.notes.values[did.notes]
	place := &r.places[r.copied.uid]
	if n.seen.uid != "" {
		i := indexOf(n.seen.uid)
		w.rules.alter(r, pastChange{verb: pastSeen, index: i, finished: n.seen.outcome != ""})
		if !w.rules.finished(r.pasts[place.job]) {
			*place = simPlace{known: true, job: i}
		}
	}
	if n.unsure {
		place.known = true
		place.unsure = true
	}
	if n.uid != "" {
		w.rules.alter(r, pastChange{verb: pastKept, index: indexOf(n.uid), notes: did.notes})
	}
}

// alter changes the past of a Job in the memory of a replica.
func (r *rules) alter(of *simReplica, c pastChange) {
	c.past = of.pasts[c.index]
	of.pasts[c.index] = r.change(c)
}

func (r *rules) finished(p pastNumber) bool { return r.pasts.values[p].last.Outcome != "" }

func (r *rules) fate(p pastNumber) fate { return r.pasts.values[p].fate }

// forgetTimes makes each recorded end older than a minute.
func (w *world) forgetTimes() {
	for i := range w.owners {
		w.owners[i].recent = false
	}
}

// age makes the times of a replica old.
func (w *world) age(r *simReplica, by verb) {
	r.freed = 0
	if by == pastAged {
		r.sent = 0
	}
	for i, p := range r.pasts {
		if p != 0 {
			r.pasts[i] = w.rules.change(pastChange{past: p, verb: by})
		}
	}
}

// handle does what the handler does.
func (w *world) handle(r *simReplica, c happened, before simJob) {
	ours := c.job.annotated || !w.rules.named
	if c.job.exists {
		w.appeared(r, c, ours && wasBefore(before, c.job))
		return
	}
	place := &r.places[c.job.owner]
	knows := r.pasts[c.index] != 0 || place.known
	if !ours && !knows {
		return
	}
	w.rules.alter(r, pastChange{verb: pastRemoved, index: c.index, finished: c.job.finished, released: c.job.released})
	r.results[c.index] = c.job.finished
	if c.job.finished && c.job.released {
		r.freed.add(c.index)
	}
	if c.job.finished && !c.job.released {
		*place = simPlace{known: true, job: c.index}
	}
}

// wasBefore reports whether a Job has a state that it had before.
func wasBefore(before, job simJob) bool {
	if !before.exists {
		return false
	}
	return before.finished && !job.finished || before.deleting && !job.deleting || before.released && !job.released
}

// appeared notices a Job in the cache, which may be there again.
func (w *world) appeared(r *simReplica, c happened, back bool) {
	if r.pasts[c.index] == 0 && !back {
		return
	}
	if !back && w.rules.fate(r.pasts[c.index]) != fateRemoved {
		w.rules.alter(r, pastChange{verb: pastShown, index: c.index})
		return
	}
	w.rules.alter(r, pastChange{verb: pastBack, index: c.index})
	r.results[c.index] = false
	r.freed.remove(c.index)
	r.said.remove(c.index)
	r.lost.remove(c.index)
}
