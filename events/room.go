// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	noRoom      = "raise Options.MaxObjects or Options.TotalWritesPerSecond"
	manyReasons = "one object has more than 8 reasons at a time"
)

// admit makes room for the object of o. It returns nil, and counts o as lost,
// if it finds none.
func (b *book) admit(now instant, pick uint64, o *occurrence) *object {
	name := cmp.Or(o.ref.Namespace, b.bounds.namespace)
	n := b.namespaces[name]
	if n == nil {
		n = &namespace{name: name}
	}
	if now < n.gone {
		b.lose(LostNamespaceGone, 1, "")
		return nil
	}
	if !b.makeRoom(n, o.eventtype == corev1.EventTypeWarning, pick, now) {
		b.lose(LostQueueFull, 1, noRoom)
		return nil
	}
	b.namespaces[name] = n
	n.members++
	obj := &object{ref: *o.ref, namespace: n, limiter: b.bounds.perObject.newLimiter()}
	b.objects[o.key] = obj
	return obj
}

// makeRoom reports whether there is room for one more object of n. It removes
// an object that has no first Event to write. If there is none and n is
// healthy, suspect namespaces give what they have beyond their half of the
// book. If they have no more than that and the newcomer is a Warning, it
// removes an object with a first Normal.
func (b *book) makeRoom(n *namespace, isWarning bool, pick uint64, now instant) bool {
	half := max(b.bounds.objects/2, 1)
	if n.suspect && b.roster.doubtful >= half {
		return false // the other half is for healthy namespaces
	}
	if len(b.objects) < b.bounds.objects {
		return true
	}
	victim := b.idle.pick(pick)
	if victim == nil && !n.suspect && b.roster.doubtful > half {
		victim = b.roster.last()
	}
	if victim == nil && isWarning {
		victim = b.normals.pick(pick)
	}
	if victim == nil {
		return false
	}
	b.stats.Evicted++
	b.remove(victim, now)
	return true
}

// remove forgets obj.
func (b *book) remove(obj *object, now instant) {
	for _, s := range obj.series {
		b.drop(s, s.waiting.n, LostQueueFull, noRoom)
	}
	n := obj.namespace
	leave(obj)
	obj.moveTo(nil)
	b.roster.hold(obj, false)
	b.roster.enter(n, now)
	n.members--
	if n.members == 0 {
		delete(b.namespaces, n.name)
	}
	delete(b.objects, keyOf(&obj.ref))
	b.isChanged = true
}

// drop gives up n occurrences of s that wait: repeats of a stored Event are
// suppressed, others are lost.
func (b *book) drop(s *series, n int64, cause, detail string) {
	isRepeat := s.drop(n)
	b.stats.Pending -= n
	if isRepeat {
		b.stats.Suppressed += n
		return
	}
	b.lose(cause, n, detail)
}

// open adds a series to obj. Where there are too many, the longest silent one
// makes room, unless a new Event of it waits. For a Warning, the latest Normal
// that waits makes room too. It returns nil if it finds none.
func (b *book) open(obj *object, o *occurrence) *series {
	if len(obj.series) >= b.bounds.series {
		at := obj.leastUseful(o.eventtype == corev1.EventTypeWarning)
		if at < 0 {
			return nil
		}
		s := obj.series[at]
		b.drop(s, s.waiting.n, LostQueueFull, manyReasons)
		obj.series = slices.Delete(obj.series, at, at+1)
	}
	s := &series{identity: o.identity, pause: b.bounds.pause}
	if o.about != (about{}) {
		a := o.about
		s.about = &a
	}
	obj.series = append(obj.series, s)
	return s
}

// leastUseful returns the index of the series of o that makes room for a new
// series, or -1.
func (o *object) leastUseful(forWarning bool) int {
	silent := o.longestSilent()
	if silent < 0 && forWarning {
		return o.latestNormal()
	}
	return silent
}

// longestSilent returns the index of the series of o that has had no occurrence
// for the longest time, of those of which no Event waits. It is -1 for none.
func (o *object) longestSilent() int {
	at := -1
	for i, s := range o.series {
		if s.state == writing || s.waiting.draft != nil {
			continue
		}
		if at < 0 || s.waiting.seen < o.series[at].waiting.seen {
			at = i
		}
	}
	return at
}

// latestNormal returns the index of the series of o that had the latest
// occurrence, of those of which a Normal waits. It is -1 for none. None of the
// series of o is silent.
func (o *object) latestNormal() int {
	at := -1
	for i, s := range o.series {
		if s.state == writing {
			continue
		}
		if s.eventtype != corev1.EventTypeNormal || s.class() == firstWarning {
			continue
		}
		if at < 0 || s.waiting.seen > o.series[at].waiting.seen {
			at = i
		}
	}
	return at
}

// A pool has objects that may make room for others. It is not in any order.
type pool []*object

// pick returns one of the objects, which the number n chooses, or nil.
func (p *pool) pick(n uint64) *object {
	if len(*p) == 0 {
		return nil
	}
	return (*p)[n%uint64(len(*p))]
}

// moveTo takes o out of its pool and puts it into p, if p is not nil.
func (o *object) moveTo(p *pool) {
	if o.pool == p {
		return
	}
	if o.pool != nil {
		rest := *o.pool
		last := len(rest) - 1
		rest[o.slot] = rest[last]
		rest[o.slot].slot = o.slot
		rest[last] = nil
		*o.pool = rest[:last]
	}
	o.pool = p
	if p != nil {
		o.slot = len(*p)
		*p = append(*p, o)
	}
}
