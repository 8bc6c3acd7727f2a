// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

// normalized returns s with small numbers in place of its times and versions,
// in the same order, and without what no step reads. Two states that differ
// only in these have the same future.
func normalized(s state) state {
	s.dropOld()
	times := ranks{}
	versions := ranks{}
	s.numbers(times.add, versions.add)
	times.number()
	versions.number()
	s.numbers(times.rename, versions.rename)
	s.seconds = times.last
	return s
}

// dropOld drops the versions that no controller can read. A crash may lead to a
// cache of any age.
func (s *state) dropOld() {
	if s.crashes > 0 {
		return
	}
	oldest := s.versions
	for who := range int(s.count) {
		oldest = min(oldest, s.controllers[who].cache)
	}
	if oldest == 0 {
		return
	}
	copy(s.history[:], s.history[oldest:])
	clear(s.history[s.versions-oldest:])
	s.versions -= oldest
	for who := range int(s.count) {
		s.controllers[who].cache -= oldest
	}
}

// numbers calls the functions with each time and each version of the state.
func (s *state) numbers(time, version func(*uint8)) {
	for i := range s.history[:s.versions] {
		numbersOf(&s.history[i], time, version)
	}
	numbersOf(&s.late.after, time, version)
	for who := range int(s.count) {
		version(&s.wrote[who])
		s.controllers[who].memory.numbers(time, version)
		numbersOfCall(&s.controllers[who].call, time, version)
	}
}

func numbersOf(o *object, time, version func(*uint8)) {
	version(&o.version)
	time(&o.updated)
	time(&o.started)
	time(&o.finished)
	time(&o.ready.since)
	time(&o.other.since)
}

func (m *memory) numbers(time, version func(*uint8)) {
	version(&m.newest)
	version(&m.unanswered)
	numbersOf(&m.handed, time, version)
}

func numbersOfCall(c *call, time, version func(*uint8)) {
	time(&c.at)
	numbersOf(&c.before, time, version)
	for i := range c.answers[:c.count] {
		numbersOf(&c.answers[i].object, time, version)
	}
}

// ranks gives small numbers to numbers, in their order. 0 stays 0.
type ranks struct {
	used [64]bool
	rank [64]uint8
	was  [64]uint8 // the number of each rank
	last uint8
}

func (r *ranks) add(n *uint8) { r.used[*n] = true }

func (r *ranks) number() {
	for n := 1; n < len(r.used); n++ {
		if r.used[n] {
			r.last++
			r.rank[n] = r.last
			r.was[r.last] = uint8(n)
		}
	}
}

func (r *ranks) rename(n *uint8) { *n = r.rank[*n] }

func (r *ranks) restore(n *uint8) { *n = r.was[*n] }
