// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// poll is how soon to look again at a cache that lags.
const poll = time.Second

// reread is how soon to look again at a Job that no informer watches, or whose
// event may reach the caller before the Guard.
const reread = 10 * time.Second

// settle is how long a Job must have been known to be gone before it is
// declared lost while an informer feeds the Guard. The store drops a Job before
// the handlers receive the delete event, and that event may carry the outcome.
const settle = time.Second

// Inspect finds out the state of a Job. It makes no request while the cache has
// the Job, or lags behind its creation within Options.CacheLagTimeout. Before
// it declares a Job Missing or Replaced it makes one live read, unless
// Options.TrustCache is set. A Job that the cache shows as being deleted is
// Deleting without a live read. Inspect is safe before the informer has synced.
// The Ref needs Namespace and Name. Without a UID, Inspect reads nothing and
// the Job is NotCreated.
//
// Inspect knows the Ref alone: another replica may have recorded the outcome
// since it was read. Step reads the owner before it reports a loss.
//
// An error leaves the question open: it never means that the Job is lost.
func (g *Guard[J]) Inspect(ctx context.Context, ref Ref) (Observation, error) {
	switch {
	case !g.made():
		return Observation{}, errNotMade()
	case ref.Namespace == "":
		return Observation{}, errors.New("jobgc: inspect: Ref.Namespace is empty; set the namespace of the Job")
	case ref.Name == "":
		return Observation{}, errors.New("jobgc: inspect: Ref.Name is empty; set the name of the Job")
	case ref.UID == "":
		return Observation{State: NotCreated, Source: sourceRef}, nil
	}
	f, err := g.inspect(ctx, ref, false)
	if err != nil {
		return Observation{}, fmt.Errorf("jobgc: inspect: %w", err)
	}
	return f, nil
}

// inspect is Inspect. With done, it makes no request for a Job that is not in
// the cache, unless the cache is older than the Job. If the Job exists, its
// event causes the next reconcile, which releases it.
func (g *Guard[J]) inspect(ctx context.Context, ref Ref, done bool) (Observation, error) {
	if g.store != nil {
		f, err := g.lookCached(ref, done)
		if err != nil || f.State != "" {
			return f, err
		}
	}
	f, err := g.readLive(ctx, ref)
	if err != nil || !f.gone() {
		if f.State != Finished && (!done || !g.stopped(f.Job, f)) {
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

func (g *Guard[J]) readLive(ctx context.Context, ref Ref) (Observation, error) {
	jobs, err := g.jobsIn(ref.Namespace)
	if err != nil {
		return Observation{}, err
	}
	return readLive(ctx, jobs, ref)
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
		if g.late && f.State != Finished && (!done || !g.stopped(job, f)) {
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
		switch {
		case past == unknown && f.State == Collected:
			f.Source = sourceRef
		case past == unknown:
			f = Observation{State: Pending, Source: sourceCacheBehind}
		}
		if g.late && !g.synced() {
			f.After = settle // the event that made the caller look may be on the way
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

// stopped reports whether a Job has been suspended for so long that its pods
// have ended, so that they can no longer finish it.
func (g *Guard[J]) stopped(job *batchv1.Job, f Observation) bool {
	const ending = time.Minute
	return f.State == Suspended && g.now().Sub(deciding(job.Status.Conditions).LastTransitionTime.Time) > ending
}
