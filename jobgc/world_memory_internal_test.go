// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "time"

// What a replica of the small world remembers.

// remember hands to the machine what the replica remembers.
func (w *world) remember(r *simReplica) {
	place := r.places[r.copied.uid]
	var memory recollection
	switch {
	case r.m.ref.uid != "":
		memory = r.pasts[indexOf(r.m.ref.uid)].at(began)
	case place.uid != "":
		memory = r.pasts[indexOf(place.uid)].at(began)
		memory.uid = place.uid
	default:
		memory.unsure = place.unsure
	}
	if !w.set.informer {
		memory.settled = true
	}
	r.m.memory = memory
}

// keep remembers what the machine has noted.
func (w *world) keep(r *simReplica) {
	n := r.m.notes
	r.m.notes = notes{}
	if n.seen.uid != "" {
		p := &r.pasts[indexOf(n.seen.uid)]
		p.uid = n.seen.uid
		*p = p.sees(Observation{State: n.seen.state, Outcome: n.seen.outcome})
		old := r.places[r.copied.uid].uid
		if r.pasts[indexOf(old)].last.Outcome == "" {
			r.places[r.copied.uid] = expected{uid: n.seen.uid}
		}
	}
	if n.unsure {
		r.places[r.copied.uid].unsure = true
	}
	if n.uid != "" {
		p := &r.pasts[indexOf(n.uid)]
		p.uid = n.uid
		*p = p.keeps(n, began)
	}
}

// age makes the times of a replica old.
func (r *simReplica) age(by time.Duration) {
	old := func(t *time.Time) {
		if !t.IsZero() && began.Sub(*t) < by {
			*t = began.Add(-by)
		}
	}
	for i := range r.pasts {
		p := &r.pasts[i]
		old(&p.removed)
		old(&p.absent)
		old(&p.missed)
		old(&p.sent)
		old(&p.reported)
		if by > cacheLag && !p.sent.IsZero() {
			p.sent = time.Time{}
			p.sentFor = jobFacts{}
		}
	}
}
