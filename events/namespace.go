// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "time"

// A namespace fails after a request that failed, until one succeeds. It then
// has one request at a time, after a pause.
type namespace struct {
	health

	name      string
	members   int // objects
	busy      int // requests under way
	waiting   []*object
	waker     *object   // it comes from the queue by the end of the pause; or nil
	coreUntil time.Time // Events go to core/v1
	refusal   string    // of events.k8s.io, or of both groups
}

// A health is how the requests to a namespace, or to the server, go.
type health struct {
	failing time.Time // since when; zero while it does not fail
	until   time.Time // no request before it

	isDenied bool // by both groups
}

func (h *health) isFailing() bool { return !h.failing.IsZero() }

// fail pauses h for a quarter of the time that it has failed for.
func (h *health) fail(now time.Time, longest time.Duration) {
	if !h.isFailing() {
		h.failing = now
	}
	pause := max(now.Sub(h.failing)/4, firstRetry)
	h.until = now.Add(min(pause, longest))
}

// share is how many requests about a namespace are made at a time.
func (n *namespace) share() int {
	if n.isFailing() {
		return 1
	}
	return perNamespace
}

// park has an object wait in the list of its namespace.
func (n *namespace) park(o *object) {
	o.isParked = true
	n.waiting = append(n.waiting, o)
}

// unpark returns the object that has waited for the longest time, or nil.
func (n *namespace) unpark() *object {
	if len(n.waiting) == 0 {
		return nil
	}
	o := n.waiting[0]
	n.waiting[0] = nil
	n.waiting = n.waiting[1:]
	o.isParked = false
	return o
}

// release queues the objects of a namespace that may have a request now. In a
// pause it queues one for the end.
func (e *engine) release(n *namespace, now time.Time) {
	if e.queue == nil {
		return
	}
	if now.Before(n.until) {
		if n.waker != nil {
			return
		}
		o := n.unpark()
		if o != nil {
			e.wake(n, o, now)
		}
		return
	}
	for range n.share() - n.busy {
		o := n.unpark()
		if o == nil {
			return
		}
		o.planned = now
		o.line.Store(o.lineOf())
		e.queue.Add(o)
	}
}

// wake has an object come from the queue at the end of the pause of a
// namespace. The queue may have it already, for an earlier time. Then it comes
// early, and another object or the same one is the next waker.
func (e *engine) wake(n *namespace, o *object, now time.Time) {
	n.waker = o
	o.planned = n.until
	o.line.Store(o.lineOf())
	e.queue.AddAfter(o, n.until.Sub(now))
}

// dropWaiting gives up what waits about an object whose namespace is absent or
// terminating, and about the others that wait for the namespace.
func (e *engine) dropWaiting(o *object, why string, now time.Time) {
	n := o.namespace
	e.dropAll(o, LostNamespaceGone, why)
	for other := n.unpark(); other != nil; other = n.unpark() {
		e.dropAll(other, LostNamespaceGone, why)
		e.schedule(other, now)
	}
}
