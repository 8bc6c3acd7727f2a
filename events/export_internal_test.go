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
	sum := st.Written + st.Coalesced + st.Suppressed + r.pending
	for c, l := range r.losses {
		check(l.total >= 0, "%v lost for cause %d", l.total, c)
		sum += l.total
	}
	check(st.Recorded == sum, "%d recorded and %d accounted for: %+v, %d pending", st.Recorded, sum, st, r.pending)
	check(st.Written >= 0 && st.Coalesced >= 0 && st.Suppressed >= 0 && r.pending >= 0, "%+v, %d pending", st, r.pending)
	var pending int64
	members := map[*lane]int{}
	ready := 0
	for _, e := range r.entries {
		members[e.lane]++
		for s := e.series; s != nil; s = s.older {
			check(s.pending >= 0, "%d pending of %s", s.pending, s.reason)
			pending += s.pending
		}
		if e.index != 0 && e.class != waiting {
			ready++
		}
	}
	check(r.closed || r.pending == pending, "%d pending, %d in the series", r.pending, pending)
	if r.closed {
		return problems
	}
	doubtful, busy := 0, 0
	for name, l := range r.plan.lanes {
		check(l.members == members[l], "%d members of %s, not %d", l.members, name, members[l])
		listed := l.in != nil && l.index != 0
		most := perNamespace
		if l.suspect {
			doubtful += l.members
			most = 1
		}
		check(listed == (len(l.ready) > 0 && l.busy < most), "%s is listed: %v", name, listed)
		busy += l.busy
	}
	check(ready == r.plan.ready, "%d ready, not %d", r.plan.ready, ready)
	check(busy == r.plan.busy, "%d busy, not %d", r.plan.busy, busy)
	check(doubtful == r.plan.doubtful, "%d doubtful, not %d", r.plan.doubtful, doubtful)
	check(len(r.entries) <= r.o.MaxObjects, "%d objects", len(r.entries))
	return problems
}
