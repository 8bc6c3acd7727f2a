// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"slices"
)

// wrong is what does not add up in b; empty when all is well.
func (b *book) wrong() (problems []string) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	st := b.stats
	sum := st.Written + st.Coalesced + st.Suppressed + st.Pending
	for cause, l := range b.losses {
		check(l.total > 0, "%v lost for cause %s", l.total, cause)
		sum += l.total
	}
	check(st.Recorded == sum, "%d recorded and %d accounted for: %+v", st.Recorded, sum, st)
	check(st.Written >= 0 && st.Coalesced >= 0 && st.Suppressed >= 0 && st.Pending >= 0, "%+v", st)
	check(st.Unread >= 0 && st.Unread <= st.Coalesced, "%+v", st)
	if b.closed {
		check(b.busy > 0 || st.Pending == 0, "%d pending at the end", st.Pending)
		return problems
	}
	c := counts{members: map[*namespace]int{}, busy: map[*namespace]int{}, ready: map[*namespace]int{}, holding: map[*namespace]int{}}
	for _, obj := range b.objects {
		c.add(b, obj, check)
	}
	check(st.Pending == c.pending, "%d pending, %d in the series", st.Pending, c.pending)
	check(len(b.later) == c.later, "%d objects wait, not %d", len(b.later), c.later)
	check(len(b.idle)+len(b.normals) == c.pooled, "%d objects in pools, not %d", len(b.idle)+len(b.normals), c.pooled)
	check(len(b.objects) <= b.bounds.objects, "%d objects", len(b.objects))
	all := 0
	doubtful := 0
	for name, n := range b.namespaces {
		check(n.members > 0 && n.members == c.members[n], "%d members of %s, not %d", n.members, name, c.members[n])
		check(n.waiting == c.holding[n], "%d waiting of %s, not %d", n.waiting, name, c.holding[n])
		check(n.busy == c.busy[n], "%d busy of %s, not %d", n.busy, name, c.busy[n])
		check(len(n.ready)+len(n.again) == c.ready[n], "%d ready of %s, not %d", len(n.ready)+len(n.again), name, c.ready[n])
		check(n.busy <= perNamespace, "%d requests in %s", n.busy, name)
		all += n.busy
		if n.suspect {
			doubtful += n.waiting
		}
		isQueued := n.queued.queue != nil
		mayBeWritten := n.first() != nil && n.busy < perNamespace && (!n.suspect || n.busy == 0)
		check(isQueued == mayBeWritten, "%s is in a queue: %t", name, isQueued)
	}
	check(b.roster.doubtful == doubtful, "%d doubtful, not %d", b.roster.doubtful, doubtful)
	check(all == b.busy, "%d busy, not %d", b.busy, all)
	check(b.busy <= workers, "%d busy", b.busy)
	check(b.trials <= b.busy, "%d trials", b.trials)
	return problems
}

// counts are what the objects of a book add up to.
type counts struct {
	members, busy, ready, holding map[*namespace]int
	later, pooled                 int
	pending                       int64
}

func (c *counts) add(b *book, obj *object, check func(ok bool, format string, args ...any)) {
	n := obj.namespace
	c.members[n]++
	if obj.waits {
		c.holding[n]++
	}
	if obj.pool != nil {
		c.pooled++
		check((*obj.pool)[obj.slot] == obj, "%s is not in its slot", obj.ref.Name)
	}
	claim, _ := obj.claim()
	check(obj.busy || obj.waits == (claim != update), "%s waits: %t", obj.ref.Name, obj.waits)
	check(len(obj.series) <= b.bounds.series, "%d series of %s", len(obj.series), obj.ref.Name)
	waits := false
	writes := 0
	for _, s := range obj.series {
		c.pending += s.waiting.n
		waits = waits || s.waiting.n > 0
		if s.state == writing {
			writes++
		}
		for _, problem := range s.wrong() {
			check(false, "%s of %s: %s", s.reason, obj.ref.Name, problem)
		}
	}
	if obj.busy {
		c.busy[n]++
		check(writes == 1, "%d requests of %s", writes, obj.ref.Name)
		check(obj.queued.queue == nil && obj.pool == nil, "%s is busy and waits", obj.ref.Name)
		return
	}
	check(writes == 0, "a request of %s, which is not busy", obj.ref.Name)
	switch obj.queued.queue {
	case nil:
		check(!waits, "%s waits in no queue", obj.ref.Name)
	case &b.later:
		c.later++
	default:
		c.ready[n]++
		check(obj.queued.queue == &n.ready || obj.queued.queue == &n.again, "%s is in the queue of another namespace", obj.ref.Name)
	}
}

// wrong is what does not fit the state of s.
func (s *series) wrong() (problems []string) {
	w := s.waiting
	for _, rule := range []struct {
		holds bool
		text  string
	}{
		{w.n >= 0, "pending is negative"},
		{w.unread >= 0 && w.unread <= w.n, fmt.Sprintf("%d of %d are unread", w.unread, w.n)},
		{w.n == 0 || w.draft != nil || s.stored.number != 0 || s.state == writing, "there is nothing to write"},
		{w.n > 0 || w.draft == nil, "a draft of nothing"},
		{s.state != idle || w.n == 0, "it is idle and waits"},
		{s.state != due || w.n > 0, "it is due without need"},
		{s.state != refused || w.n == 0 && s.trouble.cause != "", "it is refused for no cause"},
		{s.state == writing || s.trouble.sent == nil, "a draft was sent"},
	} {
		if !rule.holds {
			problems = append(problems, rule.text)
		}
	}
	if w.draft != nil {
		problems = append(problems, longAnnotations(w.draft.annotations)...)
	}
	return slices.Clip(problems)
}

// longAnnotations names the annotations that no Event may have.
func longAnnotations(annotations map[string]string) (problems []string) {
	for key, value := range annotations {
		if len(value) > maxText {
			problems = append(problems, fmt.Sprintf("%d bytes of annotation %s", len(value), key))
		}
	}
	return problems
}
