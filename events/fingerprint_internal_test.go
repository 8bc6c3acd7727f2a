// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/binary"
	"slices"
	"time"
)

// A fingerprint is what decides how a replay goes on: times relative to now,
// counts up to a limit, and no numbers of Events.
type fingerprint struct {
	*replay

	out []byte
}

func (f *fingerprint) put(numbers ...int64) {
	for _, n := range numbers {
		f.out = binary.AppendVarint(f.out, n)
	}
}

func (f *fingerprint) are(facts ...bool) {
	var bits int64
	for _, fact := range facts {
		bits <<= 1
		if fact {
			bits |= 1
		}
	}
	f.put(bits)
}

func (f *fingerprint) text(s string) { f.out = append(append(f.out, s...), 0) }

// grain is how exact instants are: rate.Limiter rounds.
const grain = 10 * time.Millisecond

// past writes an instant that is over, or none.
func (f *fingerprint) past(t instant) {
	if t == 0 {
		f.put(-1)
		return
	}
	f.put(int64(f.now.since(t).Round(grain) / grain))
}

// until writes an instant that matters only while it is ahead.
func (f *fingerprint) until(t instant) {
	if t == never {
		f.put(-1)
		return
	}
	f.put(int64(max(t.since(f.now).Round(grain)/grain, 0)))
}

func (f *fingerprint) number(o *object) int64 {
	if o == nil {
		return -1
	}
	return int64(slices.Index(f.keys, keyOf(&o.ref)))
}

func (f *fingerprint) list(objects []*object) {
	for _, o := range objects {
		f.put(f.number(o))
	}
	f.put(-1)
}

func (f *fingerprint) names(namespaces []*namespace) {
	for _, n := range namespaces {
		f.text(n.name)
	}
	f.put(-1)
}

func (f *fingerprint) all() []byte {
	f.put(int64(f.flushing))
	f.list(f.later)
	f.list(f.idle)
	f.list(f.normals)
	f.names(f.roster.healthy)
	f.names(f.roster.trial)
	f.names(f.roster.resting)
	f.until(f.total.fullAt(f.now))
	f.until(f.pace.fullAt(f.now))
	f.breaker(&f.book.server)
	f.are(f.closed, f.blamed != nil, f.route.core > 0, len(f.losses) > 0 || f.stats.Suppressed > 0)
	if f.blamed != nil {
		f.text(f.blamed.name)
	}
	f.until(f.asked)
	f.until(f.route.core)
	var order []instant
	for i, k := range f.keys {
		f.object(i, f.objects[k])
		order = append(order, f.instants(f.objects[k])...)
	}
	f.order(order)
	for _, w := range f.running {
		f.put(f.number(w.object), int64(slices.Index(w.object.series, w.series)), min(w.carried, 3))
		f.are(w.draft != nil, w.isTrial, w.core)
		f.past(w.begun)
	}
	return f.out
}

// instants returns the instants that order objects and their series.
func (f *fingerprint) instants(o *object) (all []instant) {
	if o == nil {
		return nil
	}
	for _, s := range o.series {
		all = append(all, s.waiting.since, s.waiting.seen, s.trouble.since)
	}
	return all
}

// order writes the order of instants, which may be closer than a grain.
func (f *fingerprint) order(all []instant) {
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for _, t := range all {
		f.put(int64(slices.Index(sorted, t)))
	}
}

func (f *fingerprint) breaker(b *breaker) {
	succeeded := b.succeeded()
	f.put(int64(min(succeeded, 3)), int64(min(b.answers-succeeded, 8)))
	f.are(b.failing)
	f.past(b.failed)
	f.until(b.resume)
}

func (f *fingerprint) space(n *namespace) {
	f.breaker(&n.breaker)
	f.list(n.ready)
	f.list(n.again)
	f.put(int64(min(n.retries, 3)))
	f.are(n.suspect)
	f.until(n.gone)
}

func (f *fingerprint) object(number int, o *object) {
	f.text(f.last[number].reason)
	f.text(f.last[number].texts[away])
	if o == nil {
		f.put(-1)
		return
	}
	f.space(o.namespace)
	f.until(o.limiter.fullAt(f.now))
	f.are(o.busy, o.forgotten, o.waits)
	if o.queued.queue != nil {
		f.put(int64(slices.Index(o.series, o.turn.series)), int64(o.turn.class))
		f.until(o.turn.at)
		f.past(o.turn.since)
	}
	for _, e := range o.episodes {
		f.text(e.failure)
		f.past(e.conflicts)
	}
	for _, s := range o.series {
		f.series(number, s)
	}
	f.put(-1)
}

func (f *fingerprint) series(number int, s *series) {
	f.text(s.reason)
	f.are(s.episode != nil, s.isKnown, s.stored.number > 0, s.waiting.isFresh, s.trouble.denied)
	f.put(int64(s.state), int64(s.wait.after), int64(s.pause/grain), int64(s.early))
	f.until(s.wait.until)
	f.put(min(s.stored.count, 2), min(s.waiting.n, 3), min(s.waiting.unread, 2))
	f.put(int64(s.stored.hash), int64(s.waiting.hash)) //nolint:gosec // hashes
	edits := f.generations[number]
	f.put(min(edits-s.stored.generation, 2), min(edits-s.waiting.generation, 2))
	f.past(s.waiting.since)
	f.past(s.waiting.seen)
	f.past(s.trouble.since)
	f.put(int64(s.trouble.attempts))
	f.text(s.trouble.cause)
	if s.trouble.refusal != nil {
		f.are(true, s.trouble.refusal.core, s.trouble.refusal.notServed)
	}
	f.draft(s.waiting.draft)
	if s.trouble.sent == s.waiting.draft {
		f.put(-2)
		return
	}
	f.draft(s.trouble.sent)
}

func (f *fingerprint) draft(d *draft) {
	if d == nil {
		f.put(-1)
		return
	}
	isStored := func(e storedEvent) bool { return e.number == d.number }
	isThere := d.number > 0 && slices.ContainsFunc(f.server, isStored)
	f.put(int64(d.hash), min(d.same, 2), min(d.carried, 3)) //nolint:gosec // a hash
	f.are(d.isNew, d.number > 0, d.isUnsure, d.isRenamed, isThere)
}
