// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"math"
	"time"
)

// poll is how soon to look again at a cache that lags.
const poll = time.Second

// reread is how soon to look again at a Job whose end no event announces, or
// announces before the Guard sees it.
const reread = 10 * time.Second

// settle is how long a Job must have been known to be gone before it is
// declared lost while an informer feeds the Guard. The store drops a Job before
// the handlers receive the delete event, and that event may carry the outcome.
const settle = time.Second

// Inspect finds out the state of a Job. It makes no request while the cache has
// the Job, or lags behind its creation within Options.CacheLagTimeout. Before
// it declares a Job lost it makes one live read, unless Options.TrustCache is
// set. It is safe before the informer has synced. The Ref needs Namespace and
// Name. Without a UID, Inspect reads nothing and the Job is NotCreated.
//
// An error leaves the question open: it never means that the Job is lost.
func (g *Guard[J]) Inspect(ctx context.Context, ref Ref) (Observation, error) {
	switch {
	case !g.made():
		return Observation{}, errNotMade()
	case ref.Namespace == "":
		return Observation{}, errors.New("jobgc: inspect: ref.namespace is empty")
	case ref.Name == "":
		return Observation{}, errors.New("jobgc: inspect: ref.name is empty")
	case ref.UID == "":
		return Observation{State: NotCreated, Source: sourceRef}, nil
	}
	return g.inspect(ctx, ref, false)
}

// inspect is Inspect. If the owner is done, nothing depends on whether its Job
// is gone or only not in the cache yet, so that no request is made.
func (g *Guard[J]) inspect(ctx context.Context, ref Ref, done bool) (Observation, error) {
	if g.store != nil {
		f, err := g.lookCached(ref, done)
		if err != nil || f.State != "" {
			return f, err
		}
	}
	f, err := Inspect(ctx, g.client(ref.Namespace), ref)
	if err != nil || !f.gone() {
		if f.State != Finished {
			f.After = reread // no event announces its end
		}
		return f, err
	}
	// The delete event may have come in during the read.
	if t := g.tombstone(ref); t.State != "" {
		return t, nil
	}
	if f.Lost() && !g.settled(ref.UID) {
		return Observation{State: Pending, Source: sourceCacheBehind, After: settle}, nil
	}
	return f, nil
}

// lookCached answers from memory. The zero Observation means that only a live
// read can tell.
func (g *Guard[J]) lookCached(ref Ref, done bool) (Observation, error) {
	job, past, err := g.store.get(ref)
	if err != nil {
		return Observation{}, err
	}
	if job != nil && job.UID == ref.UID {
		f := StateOf(job)
		if g.late && f.State != Finished {
			f.After = reread // the event that made the caller look may be on the way
		}
		return f, nil
	}
	if f := g.tombstone(ref); f.State != "" && (!done || f.State != Pending) {
		return f, nil
	}
	lost := Missing
	if job != nil {
		lost = Replaced
	}
	f := gone(ref, lost, sourceCachePastCreate)
	switch {
	case past == behind:
		// A creation time in the future comes from a wrong clock and is not a
		// reason to wait. It has whole seconds: up to one was cut off.
		age, grace := g.now().Sub(timeOf(ref.CreatedAt)), min(g.opts.CacheLagTimeout, math.MaxInt64-time.Second)+time.Second
		if ref.CreatedAt != nil && age >= 0 && g.opts.CacheLagTimeout > 0 && age < grace {
			return Observation{State: Pending, Source: sourceCacheBehind, After: min(poll, grace-age)}, nil
		}
		return Observation{}, nil
	case done:
		if g.late && !g.settled(ref.UID) {
			f.After = settle // its event may be on the way
		}
		return f, nil
	case past == unknown:
		return Observation{}, nil
	case f.State == Collected:
		return f, nil
	case !g.settled(ref.UID):
		return Observation{State: Pending, Source: sourceCacheBehind, After: settle}, nil
	case g.opts.TrustCache:
		return f, nil
	}
	return Observation{}, nil
}
