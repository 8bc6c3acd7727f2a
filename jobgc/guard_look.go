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

// settle is how long a Job must have been known to be gone before it is declared lost, while an informer feeds the
// Guard: the store loses a Job before the handlers hear of it, and the delete event may carry the outcome.
const settle = time.Second

// Look finds out what became of a Job. It costs no request while the cache has the Job, or lags behind its creation
// within Options.Grace; before a Job is declared lost there is one live read, unless Options.Trust. It is safe before
// the informer has synced. The Ref needs Namespace and Name; without a UID nothing is read and the Job is NotCreated.
//
// An error leaves the question open: it never means that the Job is lost.
func (g *Guard[J]) Look(ctx context.Context, ref Ref) (Finding, error) {
	switch {
	case ref.Namespace == "":
		return Finding{}, errors.New("jobgc: look: ref.namespace is empty")
	case ref.Name == "":
		return Finding{}, errors.New("jobgc: look: ref.name is empty")
	case ref.UID == "":
		return Finding{State: NotCreated, Proof: ByRef}, nil
	}
	if g.store != nil {
		f, err := g.lookCached(ref)
		if err != nil || f.State != "" {
			return f, err
		}
	}
	f, err := Look(ctx, g.client(ref.Namespace), ref)
	if err != nil || !f.gone() {
		return f, err
	}
	// The delete event may have come in during the read.
	if t := g.tombstone(ref); t.State != "" {
		return t, nil
	}
	if f.Lost() && !g.settled(ref.UID) {
		return Finding{State: Pending, Proof: ByCacheLag, After: settle}, nil
	}
	return f, nil
}

// lookCached answers from memory. The zero Finding means that only a live read can tell.
func (g *Guard[J]) lookCached(ref Ref) (Finding, error) {
	job, past, err := g.store.get(ref)
	if err != nil {
		return Finding{}, err
	}
	if job != nil && job.UID == ref.UID {
		return Judge(job), nil
	}
	if f := g.tombstone(ref); f.State != "" {
		return f, nil
	}
	switch past {
	case behind:
		// A time of creation in the future is a clock that is off, and no reason to wait. It has whole seconds: up to one was cut off.
		age, grace := time.Since(timeOf(ref.CreatedAt)), min(g.opts.Grace, math.MaxInt64-time.Second)+time.Second
		if ref.CreatedAt != nil && age >= 0 && g.opts.Grace > 0 && age < grace {
			return Finding{State: Pending, Proof: ByCacheLag, After: min(poll, grace-age)}, nil
		}
		return Finding{}, nil
	case unknown:
		return Finding{}, nil
	case passed:
	}
	lost := Missing
	if job != nil {
		lost = Replaced
	}
	f := gone(ref, lost, ByCacheRV)
	switch {
	case f.State == Collected:
		return f, nil
	case !g.settled(ref.UID):
		return Finding{State: Pending, Proof: ByCacheLag, After: settle}, nil
	case g.opts.Trust:
		return f, nil
	}
	return Finding{}, nil
}
