// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"golang.org/x/time/rate"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxSeen is how many objects evictOne looks at.
const maxSeen = 64

const (
	tooManyObjects = "raise Options.MaxObjects or Options.TotalWritesPerSecond"
	tooManySeries  = "an object has more than 64 reasons, actions or related objects, " +
		"or all objects more than 4 each in the mean"
)

// admit adds the object of an occurrence. It returns nil, and counts the
// occurrence as lost, if there are too many and it can evict none.
func (e *engine) admit(o *occurrence) *object {
	name := cmp.Or(o.ref.Namespace, metav1.NamespaceDefault)
	n := e.namespaces[name]
	isFailing := n != nil && n.isFailing()
	if len(e.objects) >= e.o.MaxObjects && !e.evictOne(nil, isFailing) {
		e.lose(LostQueueFull, 1, tooManyObjects)
		return nil
	}
	n = e.namespaces[name] // its last object may have been evicted
	if n == nil {
		n = &namespace{name: name}
		e.namespaces[name] = n
	}
	n.members++
	obj := &object{
		key:       o.key,
		ref:       *o.ref,
		namespace: n,
		requests:  perMinute(e.o.WritesPerMinute),
		newEvents: rate.NewLimiter(rate.Every(newEventsEvery), newEventsBurst),
	}
	e.objects[o.key] = obj
	return obj
}

// evictOne evicts an object at random about which no first Event waits. If it
// sees none, it evicts one of a namespace that fails, but not for another of
// such a namespace. It never evicts except.
func (e *engine) evictOne(except *object, forFailing bool) bool {
	var found *object
	for range maxSeen {
		o := e.anyObject()
		isFree := o.writing == nil && o != except
		switch {
		case isFree && !o.waitsForFirst():
			e.evict(o)
			return true
		case isFree && !forFailing && o.namespace.isFailing():
			found = o
		}
	}
	if found == nil {
		return false
	}
	e.evict(found)
	return true
}

// anyObject returns an object at random. It begins anew each time: objects that
// wait gather where one search goes on from the last.
func (e *engine) anyObject() *object {
	for _, o := range e.objects {
		return o
	}
	return nil
}

// evict removes an object, and gives up what waits about it.
func (e *engine) evict(o *object) {
	for _, s := range o.series {
		e.drop(s, LostQueueFull, tooManyObjects)
	}
	e.seriesCount -= len(o.series)
	o.isGone = true
	delete(e.objects, o.key)
	n := o.namespace
	if o.isParked {
		n.waiting = slices.DeleteFunc(n.waiting, func(other *object) bool { return other == o })
	}
	n.members--
	if n.members == 0 {
		delete(e.namespaces, n.name)
	}
}

// drop gives up what waits of s. A count that is left is not lost, because its
// Event is stored.
func (e *engine) drop(s *series, cause, detail string) {
	e.stats.Pending -= s.n
	if s.isNews() {
		e.lose(cause, s.n, detail)
	}
	s.n = 0
}

// open adds a series to an object. It returns nil if there are too many and it
// can drop none.
func (e *engine) open(obj *object, o *occurrence) *series {
	for len(obj.series) >= maxSeries || e.seriesCount >= seriesPerObject*e.o.MaxObjects {
		if !e.dropOneSeries(obj) {
			return nil
		}
	}
	s := &series{identity: o.identity, pause: e.firstPause()}
	if o.about != (about{}) {
		a := o.about
		s.about = &a
	}
	obj.series = append(obj.series, s)
	e.seriesCount++
	return s
}

// dropOneSeries removes a random series of obj that has an Event. If there is
// none and obj may have more, it evicts another object.
func (e *engine) dropOneSeries(obj *object) bool {
	n := len(obj.series)
	first := rand.IntN(n + 1) //nolint:gosec // no secret
	for i := range n {
		at := (first + i) % n
		s := obj.series[at]
		isWriting := obj.writing != nil && obj.writing.series == s
		if isWriting || s.isFirst() && s.n > 0 {
			continue
		}
		e.drop(s, LostSeriesFull, tooManySeries)
		obj.series = slices.Delete(obj.series, at, at+1)
		e.seriesCount--
		return true
	}
	if n >= maxSeries {
		return false
	}
	return e.evictOne(obj, obj.namespace.isFailing())
}
