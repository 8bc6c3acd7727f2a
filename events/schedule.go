// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "time"

const (
	workers      = 8 // concurrent writes
	trialWorkers = workers / 2
	perNamespace = 2                      // of them about objects of one namespace
	firstPause   = 250 * time.Millisecond // after a fault of a namespace or of the server; doubles
	longestPause = 30 * time.Second
)

// A class orders what waits: lower ones are written first.
type class uint8

const (
	waiting      class = iota // for an instant
	firstWarning              // and the recovery from it
	firstNormal
	update
)

// A breaker knows the health of a namespace, or of the server.
type breaker struct {
	faults int     // failures in a row
	failed instant // the last of them
	proved instant // the last success
	resume instant // no write before it
	aging  *series // its draft may expire; the others only wait for the recovery
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

func (b *breaker) succeed(now instant) {
	b.faults, b.proved, b.aging = 0, now, nil
}

// hurry ends the pause of b.
func (b *breaker) hurry() { b.faults, b.resume = 0, 0 }

// A lane is a namespace with its waiting writes. It is suspect
// after a write that failed or that took long, until one succeeds quickly.
type lane struct {
	name    string
	ready   queue[*entry] // what may be written now
	members int           // entries of this namespace
	busy    int           // writes under way
	suspect bool
	breaker
	route

	in    *queue[*lane]
	index int32
}

func (l *lane) place() *int32 { return &l.index }

// before orders suspects by the instant of their next trial. Other lanes are
// ordered by their first entries. A lane without a write under way goes ahead,
// so no namespace takes the workers of another.
func (l *lane) before(m *lane) bool {
	if l.suspect {
		return l.resume < m.resume
	}
	a, b := l.ready[0], m.ready[0]
	if a.class != b.class {
		return a.class < b.class
	}
	if l.busy != m.busy {
		return l.busy < m.busy
	}
	return a.before(b)
}

// A schedule decides what is written next. It starts nothing and has no lock.
type schedule struct {
	lanes    map[string]*lane
	open     queue[*lane]  // healthy lanes that have something to write
	suspects queue[*lane]  // suspect lanes that have something to write
	later    queue[*entry] // entries that wait for an instant
	server   breaker
	asked    instant // no write before it, as the server said
	total    bucket
	pace     bucket // what suspect lanes may take of total
	turn     int64
	core     instant // until when events.k8s.io/v1 is not served

	ready, busy, trials int // entries to be written now, writes under way, writes under way in suspect lanes
	doubtful            int // entries of suspect lanes
}

// enter returns the lane of namespace for one more entry.
func (p *schedule) enter(namespace string) *lane {
	l := p.lanes[namespace]
	if l == nil {
		l = &lane{name: namespace}
		p.lanes[namespace] = l
	}
	l.members++
	if l.suspect {
		p.doubtful++
	}
	return l
}

// leave is called when an entry of l is forgotten.
func (p *schedule) leave(l *lane) {
	l.members--
	if l.suspect {
		p.doubtful--
	}
	if l.members == 0 && l.busy == 0 {
		delete(p.lanes, l.name)
	}
}

// judge sets whether l is suspect.
func (p *schedule) judge(l *lane, suspect bool) {
	if l.suspect == suspect {
		return
	}
	p.unlist(l)
	l.suspect = suspect
	if suspect {
		p.doubtful += l.members
	} else {
		p.doubtful -= l.members
		l.resume = 0
	}
}

// list puts l where it belongs after any change of it.
func (p *schedule) list(l *lane) {
	in, most := &p.open, perNamespace
	if l.suspect {
		in, most = &p.suspects, 1
	}
	if len(l.ready) == 0 || l.busy >= most {
		p.unlist(l)
		return
	}
	l.in = in
	in.put(l)
}

func (p *schedule) unlist(l *lane) {
	if l.in != nil {
		l.in.remove(l)
		l.in = nil
	}
}

// add has e written as soon as c allows. An entry that waits in the same class
// keeps its place.
func (p *schedule) add(e *entry, c class, now instant) {
	if e.class == c && e.index != 0 {
		return
	}
	p.remove(e)
	p.turn++
	e.class, e.at, e.turn = c, now, p.turn
	e.lane.ready.put(e)
	p.ready++
	p.list(e.lane)
}

// postpone has e looked at again at the given instant.
func (p *schedule) postpone(e *entry, at instant) {
	if e.class != waiting {
		p.remove(e)
	}
	e.at = at
	p.later.put(e)
}

// remove takes e out of all queues.
func (p *schedule) remove(e *entry) {
	switch {
	case e.index == 0:
	case e.class == waiting:
		p.later.remove(e)
	default:
		p.unlist(e.lane) // before its first entry changes
		e.lane.ready.remove(e)
		p.ready--
		p.list(e.lane)
	}
	e.class = waiting
}

// due returns an entry whose instant has come; nil when there is none.
func (p *schedule) due(now instant) *entry {
	if len(p.later) == 0 || p.later[0].at > now {
		return nil
	}
	return p.later[0]
}

// next returns the lane to write in now, or in how long to ask again; a
// negative wait means after the next change.
func (p *schedule) next(total, pace limit, now instant) (*lane, time.Duration) {
	wake := instant(-1)
	if len(p.later) > 0 {
		wake = p.later[0].at
	}
	l, at := p.choose(pace, now)
	if l != nil {
		at = max(now, p.server.resume, p.asked, p.total.ready(total, now))
	}
	if l != nil && at <= now {
		return l, 0
	}
	if at >= 0 && (wake < 0 || at < wake) {
		wake = at
	}
	if wake < 0 {
		return nil, -1
	}
	return nil, max(wake.since(now), 1)
}

// choose returns the next lane, or the instant at which a suspect lane may be
// next; -1 means after the next change.
func (p *schedule) choose(pace limit, now instant) (*lane, instant) {
	if p.busy >= workers || p.server.faults > 0 && p.busy > 0 {
		return nil, -1
	}
	var healthy *lane
	if len(p.open) > 0 {
		healthy = p.open[0]
	}
	if len(p.suspects) == 0 || p.trials >= trialWorkers || healthy != nil && healthy.ready[0].class != update {
		return healthy, -1
	}
	trial := p.suspects[0]
	at := max(now, trial.resume, p.pace.ready(pace, now))
	if at <= now && (healthy == nil || trial.ready[0].class != update) {
		return trial, now
	}
	return healthy, at
}

// begin takes the first entry of l.
func (p *schedule) begin(l *lane, total, pace limit, now instant) *entry {
	e := l.ready[0]
	p.remove(e)
	l.busy++
	p.busy++
	p.total.take(total, now)
	if l.suspect {
		p.trials++
		p.pace.take(pace, now)
	}
	p.list(l)
	return e
}

// end is called when a write in l has ended; trial says that l was suspect when
// it began.
func (p *schedule) end(l *lane, trial bool) {
	l.busy--
	p.busy--
	if trial {
		p.trials--
	}
}
