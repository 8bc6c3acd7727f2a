// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "fmt"

// LanesOf is how many namespaces r knows.
func LanesOf(r *Recorder) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.plan.lanes)
}

// Kept is what r keeps: objects and series, and the occurrences that no write
// has reported.
func Kept(r *Recorder) (objects, series int, pending int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		for s := e.series; s != nil; s = s.older {
			series++
			pending += s.pending
		}
	}
	return len(r.entries), series, pending
}

// Unbalanced is what does not add up in the accounts and queues of r; empty
// when all is well.
func Unbalanced(r *Recorder) (problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	st := r.stats
	sum := st.Written + st.Coalesced + st.Suppressed + st.Pending
	for cause, l := range r.losses {
		check(l.total > 0, "%v lost for cause %s", l.total, cause)
		sum += l.total
	}
	check(st.Recorded == sum, "%d recorded and %d accounted for: %+v", st.Recorded, sum, st)
	check(st.Written >= 0 && st.Coalesced >= 0 && st.Suppressed >= 0 && st.Pending >= 0, "%+v", st)
	var pending int64
	members, busy, ready, holding := map[*lane]int{}, map[*lane]int{}, map[*lane]int{}, map[*lane]int{}
	later := 0
	for _, e := range r.entries {
		members[e.lane]++
		if e.waits {
			holding[e.lane]++
		}
		claim, _ := e.claim()
		check(e.busy || r.closed || e.waits == (claim != update), "%s waits: %t", e.ref.Name, e.waits)
		waits := false
		for s := e.series; s != nil; s = s.older {
			if s.draft != nil {
				for key, value := range s.draft.annotations {
					check(len(value) <= maxText, "%d bytes of annotation %s", len(value), key)
				}
			}
			check(s.pending >= 0, "%d pending of %s", s.pending, s.reason)
			check(s.pending == 0 || s.draft != nil || s.event != 0, "nothing to write of %s", s.reason)
			pending += s.pending
			waits = waits || s.pending > 0
		}
		if e.busy {
			busy[e.lane]++
			check(e.queue == nil && e.list == nil, "%s is busy and waits", e.ref.Name)
		}
		switch e.queue {
		case nil:
			check(e.busy || !waits || r.closed, "%s waits in no queue", e.ref.Name)
		case &r.plan.later:
			later++
		default:
			ready[e.lane]++
			check(e.queue == &e.lane.ready, "%s is in the queue of another namespace", e.ref.Name)
		}
	}
	if r.closed {
		return problems
	}
	check(st.Pending == pending, "%d pending, %d in the series", st.Pending, pending)
	check(len(r.plan.later) == later, "%d entries wait, not %d", len(r.plan.later), later)
	all := 0
	for name, l := range r.plan.lanes {
		check(l.members > 0 && l.members == members[l], "%d members of %s, not %d", l.members, name, members[l])
		check(l.waiting == holding[l], "%d waiting of %s, not %d", l.waiting, name, holding[l])
		check(l.busy == busy[l], "%d busy of %s, not %d", l.busy, name, busy[l])
		check(len(l.ready) == ready[l], "%d ready of %s, not %d", len(l.ready), name, ready[l])
		all += l.busy
	}
	check(all == r.plan.busy, "%d busy, not %d", r.plan.busy, all)
	check(r.plan.trials <= r.plan.busy, "%d trials", r.plan.trials)
	check(len(r.entries) <= r.o.MaxObjects, "%d objects", len(r.entries))
	return problems
}
