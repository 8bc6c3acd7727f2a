// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"
	"time"
)

// state is a state of the world. A step changes a copy.
type state[F comparable] struct {
	store     Store
	facts     F
	processes []process
	late      []late
	left      Budgets
	active    int // the replica that has acted last
}

// late is a request that the API server executes after its client gave up, or
// never.
type late struct {
	Request

	by    string
	until time.Time
}

// process is a replica.
type process struct {
	isUp     bool
	life     []entry // its calls and answers, as far as it may remember them
	began    int     // the entry of life where the last call began
	pending  *pending
	sent     *Answer // to the pending request, on its way
	memory   string  // before the call
	read     []uint64
	versions []*Object

	caches  []*Object
	unseen  []Change  // what the caches do not show yet
	isDirty bool      // something happened that causes a call
	wake    time.Time // when it wants to be called; zero for never
}

func (s *state[F]) clone() *state[F] {
	after := *s
	after.processes = slices.Clone(s.processes)
	after.late = slices.Clone(s.late)
	return &after
}

// isDue reports whether it is time to call a process that is in no call.
func (p *process) isDue(now time.Time) bool {
	isAwake := !p.wake.IsZero() && !p.wake.After(now)
	return p.isUp && p.pending == nil && (p.isDirty || isAwake)
}

// isExpired reports whether the context of a request ended before it was sent.
func (p *process) isExpired(now time.Time) bool {
	return p.pending != nil && p.sent == nil && !p.pending.deadline.IsZero() && !p.pending.deadline.After(now)
}

// add appends to the life of a process, which other states share.
func (p *process) add(e entry) { p.life = append(slices.Clip(p.life), e) }

// crash ends a process. Its caches stay: the next process may start with them.
func (p *process) crash() {
	*p = process{caches: p.caches, unseen: p.unseen}
}

// show lets the cache of a resource show its next change.
func (p *process) show(resource string) Change {
	i := slices.IndexFunc(p.unseen, func(c Change) bool { return c.key().Resource == resource })
	change := p.unseen[i]
	p.unseen = slices.Delete(slices.Clone(p.unseen), i, i+1)
	if change.After == nil {
		p.caches = without(p.caches, change.key())
	} else {
		p.caches = with(p.caches, change.After)
	}
	return change
}

// waiting lists the resources whose changes a process has not seen.
func (p *process) waiting() []string {
	var resources []string
	for _, c := range p.unseen {
		if !slices.Contains(resources, c.key().Resource) {
			resources = append(resources, c.key().Resource)
		}
	}
	return resources
}

// execute lets the API server execute a request.
func (m Model[F]) execute(s *state[F], by string, r Request) Answer {
	answer, change := s.store.Do(r)
	if change == (Change{}) {
		return answer
	}
	if m.Note != nil {
		s.facts = m.Note(s.facts, Write{Request: r, Change: change, By: by, Now: s.store.Now})
	}
	if !slices.Contains(m.Cached, r.Resource) {
		return answer
	}
	for i := range s.processes {
		p := &s.processes[i]
		p.unseen = append(slices.Clip(p.unseen), change)
	}
	return answer
}

// nextTime is the next moment that anything waits for; zero for none.
func (m Model[F]) nextTime(s *state[F], isCalm bool) time.Time {
	var next time.Time
	add := func(t time.Time) {
		if t.After(s.store.Now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := range s.processes {
		p := &s.processes[i]
		if p.pending == nil {
			add(p.wake)
		} else {
			add(p.pending.deadline)
		}
	}
	for _, l := range s.late {
		add(l.until.Add(time.Nanosecond))
	}
	for _, a := range m.Actors {
		if !isCalm || !a.IsRude {
			_, at := a.Next(&s.store)
			add(at)
		}
	}
	return next
}
