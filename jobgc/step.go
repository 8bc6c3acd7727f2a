// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// Step takes the Job of one owner as far as it can go now: it creates the Job,
// observes it, suspends it, and releases it once its outcome is recorded. Call
// it on every reconcile, and again after Observation.After.
//
// Put the returned Ref (nil until there is a Job) and what the Observation says
// into the status of the owner, and write the status if it changed. The write
// must fail if the owner has changed since it was read: send its
// resourceVersion. The first Ref may wait until the Job has started, so that
// one write says both. Write it at most two seconds after the creation, also if
// many owners are in the queue. Until then Step finds the Job by its name and
// the uid of its owner, and also suspends, resumes and deletes it.
// If another client deletes the Job in that time, Step uses the result that
// this Guard has seen: its informer, or an earlier call. If the Guard has not
// seen the Job finish, Step creates it again.
//
// The Observation has these states:
//
//   - NotCreated, Pending: nothing is known. Change only the Ref. For an owner
//     that is being deleted, NotCreated means that it has no Job and gets none.
//   - Finished: the returned Ref has the outcome. A Job that has finished
//     before it could be suspended is Finished too.
//   - Lost (Missing, Replaced, Deleting): make the status final, and keep the
//     Ref. Before the first loss of a Ref, Step reads the owner live: it never
//     calls a run lost whose outcome another replica has recorded.
//   - Cancelled, with Request.Cancel: the Job is suspended, being deleted or
//     gone, and its pods may still be ending. Make the status final.
//   - The others say what the Job does.
//
// Step makes no request while the Job is in the cache and needs no change. A
// creation costs a read of the owner and the creation, and if the API server
// refuses it, as for a quota, a read of the Job, which may exist. A release
// costs a read of the owner and a patch. Without Options.Finalizer, a Job whose
// TTL is already the final one needs neither. A change of Request.Suspend costs
// a read of the owner and a patch. For an owner that is cancelled or being
// deleted, is not Done and has no Ref, each call costs a read of the Job. The
// first loss of a Ref costs a read of the owner.
//
// A creation may take 90 seconds, the wait for the client's rate limiter and
// for admission included: 30 for the read of the owner, and 60 after its
// answer. The context should allow two minutes.
//
// With an error, Step returns the Ref of the request. Step returns an error of
// Request.Job unchanged, if the API server has no Job of the owner. It cannot
// look for the Job of a cluster-scoped owner, because the Job that is not built
// has the namespace. After another error the state of the Job is unknown, and
// the next call finds out.
func (g *Guard[J]) Step(ctx context.Context, req Request) (*Ref, Observation, error) {
	if !g.made() {
		return req.Ref, Observation{}, errNotMade()
	}
	g.warn(ctx)
	ref, found, err := g.step(ctx, req)
	if own := (builderError{}); errors.As(err, &own) {
		return req.Ref, Observation{}, own.error
	}
	if err != nil {
		return req.Ref, Observation{}, fmt.Errorf("jobgc: step: %w", err)
	}
	if req.Cancel && found.Outcome == "" && found.State != Pending {
		found.State = Cancelled
	}
	ends := found.State == Cancelled || found.Outcome != "" || found.Lost()
	if ends && !req.Done && ref != nil {
		g.noteEnd(ref.UID)
	}
	return ref, found, nil
}

func (g *Guard[J]) step(ctx context.Context, req Request) (*Ref, Observation, error) {
	v, err := g.view(req)
	if err != nil {
		return nil, Observation{}, err
	}
	if (v.cancel || v.done) && !v.ended && v.ref.UID == "" && v.ref.Namespace == "" { // of a cluster-scoped owner
		switch job, err := g.built(v.ref, req); {
		case err == nil:
			v.ref.Namespace = job.Namespace
		case !v.done: // of an owner that is being deleted the Job goes with it
			return nil, Observation{}, err
		}
	}
	v.returned = g.hasReturned(v.ref)
	if v.found, err = g.find(ctx, v, req.Owner.GetUID()); err != nil {
		return nil, Observation{}, err
	}
	v.sent = g.sentLately(v.found.Job)
	v.proven = g.provenLoss(v.ref.UID)
	var job *batchv1.Job
	answered := v.now
	ref := req.Ref
	for {
		next := v.ref
		switch a := decide(v); a {
		case actReadOwner:
			if v.ref.UID == "" && v.ref.Name == "" {
				waits, err := g.unsynced()
				if waits {
					return req.Ref, Observation{State: Pending, Source: sourceCacheBehind, After: poll}, err
				}
			}
			if v.ref.UID == "" {
				// Built first, so that the builder's time does not pass between
				// the read and the creation.
				if job, err = g.built(v.ref, req); err != nil {
					// A call that was cut off may have created the Job.
					found, lookErr := g.readUnrecorded(ctx, v.ref, req.Owner.GetUID())
					switch {
					case lookErr != nil:
						return nil, Observation{}, fmt.Errorf("looking for a Job that cannot be built: %w", lookErr)
					case found.Job == nil:
						return nil, Observation{}, err
					}
					v.found = found
					continue
				}
			}
			if g.believes(req, v) {
				v.stored = &stored{exists: true, done: true, ref: v.ref}
				continue
			}
			if v.stored, err = g.read(ctx, req); err != nil {
				return nil, Observation{}, err
			}
			answered = g.now()
			v = g.learn(v)
			continue
		case actCreate:
			if v.ref.Name == "" {
				err := g.refuse(req.Owner)
				if err != nil {
					return nil, Observation{}, err
				}
			}
			found, err := g.recall(ctx, Ref{Namespace: job.Namespace, Name: job.Name}, req.Owner.GetUID())
			switch {
			case err != nil:
				return nil, Observation{}, err
			case found.State == Pending:
				return req.Ref, found, nil
			case found.Job != nil:
				v.found = found
				continue
			}
			ref, v.found, err = g.create(ctx, v, job, answered)
			if err != nil || ref == nil || !v.found.steerable() {
				return ref, v.found, err
			}
			v = v.adopts(*ref)
			v.proven = g.provenLoss(ref.UID)
			v.returned = g.hasReturned(*ref)
			continue
		case actAdopt:
			ref, v.found, err = g.adopt(ctx, v, v.found.Job, v.found.Source)
			if err != nil || !v.found.steerable() {
				return ref, v.found, err
			}
			v = v.adopts(*ref)
			v.proven = g.provenLoss(ref.UID)
			v.returned = g.hasReturned(*ref)
			continue
		case actSuspend, actResume:
			v.found, err = g.suspend(ctx, v, a == actSuspend)
			if err == nil && v.doubtsOwner() {
				v.stored = nil // the answer is from before the patch
				continue
			}
			if err != nil || v.found.State != Finished || v.ended {
				return ref, v.found, err
			}
			fallthrough // it has finished before it could be suspended
		case actRecord:
			next.Outcome, next.Released = v.found.Outcome, v.settled()
			if !next.Released {
				v.found.After = poll // the release
			}
			return &next, v.found, nil
		case actRelease:
			blind := v.blind()
			err := g.release(ctx, v.ref, v.found, v.retention, v.now)
			switch {
			case err != nil:
				return ref, v.found, err
			case blind && v.found.State == Finished:
				next.Released = true // the cache will never show it
				return &next, v.found, nil
			}
			g.noteSent(v.found.Job)
			return ref, v.found, nil
		case actDelete:
			return ref, v.found, g.remove(ctx, v.ref)
		default:
			return ref, v.waiting(), nil
		}
	}
}

// view checks the request and completes its Ref.
func (g *Guard[J]) view(req Request) (view, error) {
	v := view{
		done: req.Done, cancel: req.Cancel, suspend: req.Suspend, retention: g.opts.Retention,
		finalizer: g.opts.Finalizer, deletes: g.opts.DeleteCancelled, now: g.now(),
	}
	switch {
	case isnil.Is(req.Owner):
		return v, errors.New("Request.Owner is nil; pass the object that was read")
	case req.Owner.GetUID() == "" || req.Owner.GetName() == "":
		return v, errors.New("Request.Owner needs a name and a uid; pass the object that was read")
	case req.Stored == nil:
		return v, errors.New("Request.Stored is nil; pass a live read of the owner")
	case req.Job == nil:
		return v, errors.New("Request.Job is nil; pass a function that returns the Job")
	}
	if req.Ref != nil {
		v.ref = *req.Ref.DeepCopy()
	}
	if v.ref.UID == "" && req.Name != "" {
		err := checkName(req.Name)
		if err != nil {
			return v, err
		}
		v.named = v.ref.Name == ""
		v.ref.Name = cmp.Or(v.ref.Name, req.Name)
	}
	if req.Retention != nil {
		v.retention = *req.Retention
		if err := errors.Join(v.retention.check()...); err != nil {
			return v, err
		}
	}
	v.ended = v.done
	if req.Owner.GetDeletionTimestamp() != nil {
		v.done = true // its Job goes with it
	}
	switch {
	case v.ref.UID != "" && v.ref.Name == "":
		return v, errors.New("Request.Ref.Name is empty, and its UID is not; pass the Ref that Step returned")
	case v.ref.UID == "" && v.ref.Outcome != "":
		return v, errors.New("Request.Ref.UID is empty, and its Outcome is not; pass the Ref that Step returned")
	case req.Owner.GetNamespace() != "" && v.ref.Namespace != "" && v.ref.Namespace != req.Owner.GetNamespace():
		return v, fmt.Errorf("Request.Ref.Namespace is %q, want the namespace of Request.Owner, %q", v.ref.Namespace, req.Owner.GetNamespace())
	}
	v.ref.Namespace = cmp.Or(v.ref.Namespace, req.Owner.GetNamespace())
	return v, nil
}

// find observes the Job.
func (g *Guard[J]) find(ctx context.Context, v view, owner types.UID) (Observation, error) {
	if v.ref.Released && v.ref.UID != "" && !v.returned {
		return Observation{State: Collected, Source: sourceRef, Outcome: v.ref.Outcome}, nil
	}
	if v.ref.UID == "" {
		return g.findUnrecorded(ctx, v, owner)
	}
	found, err := g.inspect(ctx, v.ref, v.ended)
	if err != nil || found.Job == nil {
		return found, err
	}
	if has := metav1.GetControllerOfNoCopy(found.Job); has != nil && has.UID != owner {
		return found, fmt.Errorf("Request.Ref.UID: the Job %s/%s is controlled by %s %s, not by Request.Owner", v.ref.Namespace, v.ref.Name, has.Kind, has.Name)
	}
	return found, nil
}

// suspend sets spec.suspend of the Job that was found, and of no other.
func (g *Guard[J]) suspend(ctx context.Context, v view, suspend bool) (Observation, error) {
	job, err := g.patch(ctx, v.ref, []operation{
		{Op: "test", Path: "/metadata/uid", Value: v.ref.UID}, {Op: "add", Path: "/spec/suspend", Value: suspend},
	})
	switch {
	case err != nil:
		return v.found, err
	case job == nil: // gone, and its delete event, which may carry the outcome, is on the way
		return Observation{State: Pending, Source: sourceCacheBehind, After: poll}, nil
	}
	found := StateOf(job)
	found.Source, found.After = sourceLiveRead, v.found.After
	if suspend && found.State == Active {
		found.State = Suspended // its condition follows
	}
	return found, nil
}

// patch applies a JSON patch to a Job. No Job and no error mean that the Job is
// gone.
func (g *Guard[J]) patch(ctx context.Context, ref Ref, ops []operation) (*batchv1.Job, error) {
	jobs, err := g.jobsIn(ref.Namespace)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	job, err := jobs.Patch(ctx, ref.Name, types.JSONPatchType, data, metav1.PatchOptions{})
	if missing, err := isGone(err, ref); missing || err != nil {
		if err != nil {
			err = fmt.Errorf("patch %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		return nil, err
	}
	return job, nil
}

// remove deletes the Job of a cancelled run, with its pods.
func (g *Guard[J]) remove(ctx context.Context, ref Ref) error {
	jobs, ok := any(g.client(ref.Namespace)).(deleter)
	if !ok || isnil.Is(jobs) {
		return fmt.Errorf("Options.DeleteCancelled: the client of namespace %s cannot delete Jobs", ref.Namespace)
	}
	err := jobs.Delete(ctx, ref.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &ref.UID}, PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
	if _, err = isGone(err, ref); err != nil && !notfound.Changed(err, ref.Name) { // changed: the name is another Job's
		return fmt.Errorf("delete %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return nil
}

// deleter is what Options.DeleteCancelled needs of a client.
type deleter interface {
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}
