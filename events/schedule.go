// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"time"
)

const (
	workers      = 8                      // concurrent writes
	perNamespace = 2                      // of them about objects of one namespace
	quickTime    = time.Second            // in which an answer is expected: without it a namespace is suspect
	trialTime    = 10 * time.Second       // that a request in a suspect namespace may take
	firstPause   = 250 * time.Millisecond // after a fault of a namespace or of the server; doubles
	longestPause = 30 * time.Second
)

// A class orders what may be written: lower ones are first.
type class uint8

const (
	waiting      class = iota // for an instant
	firstWarning              // and the recovery from it
	firstNormal
	update
)

// A breaker knows the health of a namespace, or of the server.
type breaker struct {
	faults  int     // failures in a row
	failed  instant // the last of them
	proved  instant // the last success
	resume  instant // no write before it
	expired instant // when it last gave up an Event
}

// fail counts the failure of a write that began at begun. Writes that were
// under way together make one fault.
func (b *breaker) fail(begun, now instant) {
	if b.faults > 0 && begun <= b.failed {
		return
	}
	b.resume = max(b.resume, now.add(min(firstPause<<min(b.faults, 16), longestPause)))
	b.failed = now
	b.faults++
}

func (b *breaker) succeed(now instant) { b.faults, b.proved = 0, now }

// A lane is a namespace with its waiting writes. It is suspect after a write
// that failed or that took long, until one succeeds quickly.
type lane struct {
	name    string
	ready   queue // what may be written now
	members int   // entries of this namespace
	waiting int   // those of them with a new Event that waits, or is being written
	busy    int   // writes under way
	suspect bool
	core    instant // until when it is written by core/v1; 0 since events.k8s.io/v1 took a write
	breaker
}

// before orders the lanes that may be written in. A lane without a write under
// way goes ahead, so no namespace takes the workers of another.
func (l *lane) before(m *lane) bool {
	return cmp.Or(
		cmp.Compare(l.rank(), m.rank()),
		cmp.Compare(l.busy, m.busy),
		cmp.Compare(l.resume, m.resume),
		cmp.Compare(l.ready[0].at, m.ready[0].at),
	) < 0
}

// rank is lower for healthy lanes, but their updates wait for the first
// occurrences of suspect ones.
func (l *lane) rank() class {
	rank := 2 * l.ready[0].class
	if l.suspect {
		rank = max(rank, 2*firstNormal) + 1
	}
	return rank
}

// A schedule decides what is written next. It starts nothing and has no lock.
type schedule struct {
	lanes        map[string]*lane
	later        queue // entries that wait for an instant
	server       breaker
	blamed       *lane   // where the server failed last
	asked        instant // no write before it, as the server said
	total, pace  limiter // of all requests, and of those in suspect lanes
	core         instant // until when events.k8s.io/v1 is not served
	busy, trials int     // writes under way, and those in suspect lanes
}

// next returns the lane to write in now. Without one it returns when to ask
// again.
func (p *schedule) next(now instant) (best *lane, at instant) {
	if p.busy >= workers || p.server.faults > 0 && p.busy > 0 {
		return nil, never
	}
	if at = max(p.server.resume, p.asked, p.total.ready(now)); at > now {
		return nil, at
	}
	at = never
	for _, l := range p.lanes {
		trial := max(l.resume, p.pace.ready(now))
		switch {
		case len(l.ready) == 0 || l.busy >= perNamespace:
		case l.suspect && (l.busy > 0 || p.trials >= workers/2):
		case l.suspect && trial > now:
			at = min(at, trial)
		case best == nil || l.before(best):
			best = l
		}
	}
	return best, at
}

// begin is called when a write in l begins, and reports whether it is a trial.
func (p *schedule) begin(l *lane, now instant) (trial bool) {
	l.busy++
	p.busy++
	p.total.take(now)
	if l.suspect {
		p.trials++
		p.pace.take(now)
	}
	return l.suspect
}

// end is called when the request of j has ended.
func (p *schedule) end(j *job) {
	j.e.lane.busy--
	p.busy--
	if j.trial {
		p.trials--
	}
}

// learn updates the breakers by the answer to j. No answer is silent.
func (p *schedule) learn(j *job, st step, silent bool, now instant) {
	l := j.e.lane
	switch {
	case st == waitServer || silent && p.server.faults > 0:
		if p.server.faults == 0 || p.blamed != l { // it may be the namespace: another one shows
			p.server.fail(j.begun, now)
		}
		p.blamed = l
	case !silent:
		p.server.succeed(now)
	}
	l.suspect = st > recreate || now.since(j.begun) > quickTime+spareTime
	if st >= waitNamespace {
		l.fail(j.begun, now)
	} else {
		l.succeed(now)
	}
	if !l.suspect {
		l.resume = 0
	}
}

// doubtful counts the entries with new Events in suspect lanes. Of one of them
// it returns the last that will be written, if any.
func (p *schedule) doubtful() (n int, last *entry) {
	for _, l := range p.lanes {
		if l.suspect {
			n += l.waiting
		}
		if l.suspect && len(l.ready) > 0 {
			last = l.ready[len(l.ready)-1]
		}
	}
	return n, last
}
