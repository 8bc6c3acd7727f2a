// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/notfound"
)

const (
	poll      = time.Second      // how soon to look again at a Job that is about to change
	unwatched = 10 * time.Second // how soon to look again without a cache

	// cacheLag is how long a cache may lack a new Job. A CreatedAt has whole
	// seconds.
	cacheLag = remembered + time.Second

	// createTimeout is how long the read of the owner and the creation of its
	// Job may take together. A final TTL that is longer keeps the name taken for
	// a replica that stalls in between.
	createTimeout = 60 * time.Second

	// clockDifference is how far behind the API server's clock this one may be.
	clockDifference = time.Minute
)

// Step takes the Job of one owner as far as it can go now: it creates the Job,
// observes it, and releases it once its outcome is recorded. Write the returned
// Ref into the status of the owner, with the resourceVersion that was read, and
// in the same write what the Observation says:
//
//   - Pending: nothing is known. Change only the Ref.
//   - Active, Suspended, Finishing: the Job exists.
//   - Finished: record the Outcome. The next call releases the Job.
//   - Cancelled: record it. The next call deletes the Job.
//   - Lost: no outcome will come. Record that, once for each Ref.UID.
//   - Collected, NotCreated: nothing is left to do.
//
// An error changes nothing in the Ref: try again. That does not help if its
// text refuses the Request, or if it is a NameTakenError whose Deleting is
// false. Calls for one owner must not be concurrent in one process.
func (g *Guard) Step(ctx context.Context, req Request) (*Ref, Observation, error) {
	if g == nil || g.client == nil {
		return req.Ref, Observation{}, errNotMade()
	}
	err := req.check()
	if err != nil {
		return req.Ref, Observation{}, fmt.Errorf("jobgc: step: %w", err)
	}
	g.began()
	c := &call{Guard: g, req: req, recorded: ptr.Deref(req.Ref, Ref{})}
	c.ref = c.recorded
	c.ref.Namespace = cmp.Or(c.ref.Namespace, req.Owner.GetNamespace(), req.Namespace)
	found, err := c.step(ctx)
	if c.ofCaller != nil {
		return req.Ref, Observation{}, c.ofCaller
	}
	if err != nil {
		return req.Ref, Observation{}, fmt.Errorf("jobgc: step: %w", err)
	}
	if c.ref.UID == "" || c.isEnded() {
		return req.Ref, found, nil // no Job, or that of a run that has ended
	}
	return &c.ref, found, nil
}

// call is one call of Step.
type call struct {
	*Guard

	req      Request
	recorded Ref   // in the caller's copy of the owner
	ref      Ref   // of the Job that this call is about
	ofCaller error // of Request.Job, which Step returns unchanged
}

// isEnded reports whether the owner waits for no outcome.
func (c *call) isEnded() bool { return c.req.Done || c.recorded.Outcome != "" }

// step goes on with the Job of the Ref, if there is one.
func (c *call) step(ctx context.Context) (Observation, error) {
	if c.recorded.UID == "" {
		return c.start(ctx)
	}
	job, err := c.inCache(ctx, c.ref.Namespace, c.ref.Name)
	if err != nil {
		return Observation{}, err
	}
	if hasUID(job, c.ref.UID) {
		return c.steer(ctx, job, sourceSeen)
	}
	if c.cached != nil && c.isEnded() {
		return c.ended(Collected, sourceRef), nil // an event brings a Job that the cache lacks
	}
	if c.cached != nil && c.isYoung() {
		return Observation{State: Pending, Source: sourceCacheBehind, After: poll}, nil
	}
	job, err = c.inServer(ctx, c.ref.Namespace, c.ref.Name)
	switch {
	case err != nil:
		return Observation{}, err
	case hasUID(job, c.ref.UID):
		return c.steer(ctx, job, sourceLiveRead)
	case c.isEnded():
		return c.ended(Collected, sourceLiveRead), nil
	case job != nil:
		return c.lost(ctx, absent(c.ref, Replaced))
	}
	return c.lost(ctx, absent(c.ref, Missing))
}

// isYoung reports whether the cache may lack the Job because it is new. A
// CreatedAt in the future comes from another clock.
func (c *call) isYoung() bool {
	if c.ref.CreatedAt == nil {
		return false
	}
	return time.Since(c.ref.CreatedAt.Time).Abs() < cacheLag
}

// ended is the answer about a run for whose Job nothing is left to do.
func (c *call) ended(state State, source string) Observation {
	if c.req.Cancel && c.ref.Outcome == "" {
		state = Cancelled
	}
	return Observation{State: state, Source: source, Outcome: c.ref.Outcome}
}

// steer does the one thing that the Job of the Ref needs now.
func (c *call) steer(ctx context.Context, job *batchv1.Job, source string) (Observation, error) {
	controller := metav1.GetControllerOfNoCopy(job)
	if controller != nil && controller.UID != c.req.Owner.GetUID() {
		return Observation{}, fmt.Errorf("Request.Ref.UID: the Job %s/%s is controlled by %s %s, not by "+
			"Request.Owner", c.ref.Namespace, job.Name, controller.Kind, controller.Name)
	}
	seen := StateOf(job)
	seen.Source = source
	switch {
	case seen.State == Finished:
		return c.finish(ctx, job, seen)
	case c.recorded.Outcome != "":
		return Observation{State: Pending, Source: sourceCacheBehind, After: poll}, nil
	case c.req.Cancel && c.req.Done:
		return c.remove(ctx, job, seen)
	case c.req.Cancel && seen.State != Finishing:
		return c.stop(ctx, job, seen)
	case seen.State == Deleting:
		return c.deleting(ctx, job, seen)
	case c.isToSuspend(job):
		return c.suspend(ctx, job, *c.req.Suspend)
	}
	return c.unfinished(seen), nil
}

// finish records the outcome of a Job, or releases a Job whose outcome is
// recorded.
func (c *call) finish(ctx context.Context, job *batchv1.Job, seen Observation) (Observation, error) {
	if c.isEnded() {
		return c.release(ctx, job, seen)
	}
	c.ref.Outcome = seen.Outcome
	seen.After = poll // to release it
	return seen, nil
}

// deleting handles a Job that is being deleted before it has finished.
func (c *call) deleting(ctx context.Context, job *batchv1.Job, seen Observation) (Observation, error) {
	switch {
	case c.isEnded(), c.req.Owner.GetDeletionTimestamp() != nil:
		return c.release(ctx, job, seen)
	case seen.Source == sourceSeen:
		return c.reread(ctx)
	}
	return c.lost(ctx, seen)
}

// isToSuspend reports whether spec.suspend differs from what a run that goes on
// asks for.
func (c *call) isToSuspend(job *batchv1.Job) bool {
	if c.req.Done || c.req.Cancel || c.req.Suspend == nil {
		return false
	}
	return *c.req.Suspend != ptr.Deref(job.Spec.Suspend, false)
}

// unfinished is the answer about a Job that goes on.
func (c *call) unfinished(seen Observation) Observation {
	if c.cached == nil {
		seen.After = unwatched // no event comes
	}
	return seen
}

// reread reads a Job live that the cache shows as being deleted, or as stopped.
func (c *call) reread(ctx context.Context) (Observation, error) {
	job, err := c.inServer(ctx, c.ref.Namespace, c.ref.Name)
	switch {
	case err != nil:
		return Observation{}, err
	case job == nil:
		return c.lost(ctx, absent(c.ref, Missing))
	case job.UID == c.ref.UID:
		return c.steer(ctx, job, sourceLiveRead)
	case c.recorded.UID == "" && controls(c.req.Owner, job):
		return c.adopt(ctx, job, sourceLiveRead) // of another replica
	}
	return c.lost(ctx, absent(c.ref, Replaced))
}

// lost reports a loss that the stored owner does not contradict.
func (c *call) lost(ctx context.Context, loss Observation) (Observation, error) {
	if c.req.Cancel {
		loss.State = Cancelled
		return loss, nil
	}
	late, err := c.isLate(ctx)
	if err != nil {
		return Observation{}, err
	}
	if late {
		return ownerChanged(), nil
	}
	return loss, nil
}

// suspend sets spec.suspend as the stored owner wants it.
func (c *call) suspend(ctx context.Context, job *batchv1.Job, on bool) (Observation, error) {
	late, err := c.isLate(ctx)
	if err != nil {
		return Observation{}, err
	}
	if late {
		return ownerChanged(), nil
	}
	after, err := c.patch(ctx, job, []operation{{Op: "add", Path: "/spec/suspend", Value: on}})
	if err != nil {
		return Observation{}, err
	}
	if after == nil {
		return c.reread(ctx)
	}
	seen := StateOf(after)
	seen.Source = sourceLiveRead
	if seen.State == Finished {
		return c.finish(ctx, after, seen)
	}
	if on && seen.State == Active {
		seen.State = Suspended // the condition follows
	}
	return c.unfinished(seen), nil
}

// stop suspends the Job of a cancelled run, which ends its pods.
func (c *call) stop(ctx context.Context, job *batchv1.Job, seen Observation) (Observation, error) {
	isStopped := job.DeletionTimestamp != nil || ptr.Deref(job.Spec.Suspend, false)
	if isStopped && seen.Source == sourceSeen {
		return c.reread(ctx) // it may have been resumed, and have finished
	}
	if !isStopped {
		var err error
		seen, err = c.suspend(ctx, job, true)
		if err != nil {
			return Observation{}, err
		}
	}
	if seen.State == Pending || seen.State == Finishing || seen.State == Finished {
		return seen, nil
	}
	seen.State = Cancelled
	seen.After = poll // to delete it
	return seen, nil
}

// remove deletes the Job of a run whose cancellation is recorded: this very
// Job, in this very state. A Job that finishes in the meantime keeps its
// outcome.
func (c *call) remove(ctx context.Context, job *batchv1.Job, seen Observation) (Observation, error) {
	if job.DeletionTimestamp != nil {
		seen.State = Cancelled
		return c.release(ctx, job, seen)
	}
	late, err := c.isLate(ctx)
	if err != nil {
		return Observation{}, err
	}
	if late {
		return ownerChanged(), nil
	}
	jobs, err := c.jobsIn(c.ref.Namespace)
	if err != nil {
		return Observation{}, err
	}
	err = jobs.Delete(ctx, job.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion},
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
	seen.State = Cancelled
	_, err = isGone(err, c.ref) // then nothing is left to do
	switch {
	case err == nil:
		if unhold(job, c.opts.Finalizer) != nil {
			seen.After = poll // to release it
		}
		return seen, nil
	case apierrors.IsForbidden(err):
		return Observation{}, fmt.Errorf("delete %s/%s, which needs the verb delete: %w",
			c.ref.Namespace, job.Name, err)
	case !notfound.Changed(err, job.Name):
		return Observation{}, fmt.Errorf("delete %s/%s: %w", c.ref.Namespace, job.Name, err)
	}
	live, err := c.inServer(ctx, c.ref.Namespace, job.Name)
	if err != nil {
		return Observation{}, err
	}
	if !hasUID(live, job.UID) {
		return seen, nil
	}
	if StateOf(live).State == Finished {
		seen = StateOf(live)
	}
	seen.Source = sourceLiveRead
	seen.After = poll
	return seen, nil
}

// release sets the final TTL of a finished Job, and takes off the finalizer.
func (c *call) release(ctx context.Context, job *batchv1.Job, seen Observation) (Observation, error) {
	_, isReleased := c.released.get(job.UID)
	ops := c.releasing(job)
	if isReleased || len(ops) == 0 {
		return seen, nil
	}
	if seen.State == Finished && c.recorded.Outcome == "" {
		recorded, err := c.isRecorded(ctx)
		if err != nil {
			return Observation{}, err
		}
		if !recorded {
			return ownerChanged(), nil
		}
	}
	isTheEnd := operation{Op: "test", Path: "/status/conditions", Value: job.Status.Conditions}
	_, err := c.patch(ctx, job, append([]operation{isTheEnd}, ops...))
	if apierrors.IsInvalid(err) {
		err = c.releaseLive(ctx, job, err)
	}
	if err != nil {
		return Observation{}, err
	}
	c.released.note(job.UID, struct{}{})
	return seen, nil
}

// releaseLive releases the Job as the API server has it, after a patch that was
// refused because the copy is not the stored Job.
func (c *call) releaseLive(ctx context.Context, job *batchv1.Job, refusal error) error {
	live, err := c.inServer(ctx, c.ref.Namespace, job.Name)
	if err != nil {
		return fmt.Errorf("looking for the Job %s/%s, whose patch was refused (%v): %w",
			c.ref.Namespace, job.Name, refusal, err) //nolint:errorlint // what refused is not the answer
	}
	if !hasUID(live, job.UID) {
		return nil
	}
	if StateOf(live).State != Finished && live.DeletionTimestamp == nil {
		return fmt.Errorf("the Job %s/%s has not finished, and the cache has its end: restart the "+
			"controller if the store of the API server was restored", c.ref.Namespace, job.Name)
	}
	ops := c.releasing(live)
	if len(ops) == 0 {
		return nil
	}
	_, err = c.patch(ctx, live, ops)
	return err
}

// releasing is what the release changes. A Job that has a TTL keeps it.
func (c *call) releasing(job *batchv1.Job) []operation {
	ops := unhold(job, c.opts.Finalizer)
	seen := StateOf(job)
	switch {
	case seen.State != Finished, job.DeletionTimestamp != nil, job.Spec.TTLSecondsAfterFinished != nil:
		return ops
	}
	ttl := c.opts.Retention.final(askedTTL(job), seen, time.Now())
	if ttl == nil {
		return ops
	}
	return append(ops, operation{Op: "add", Path: "/spec/ttlSecondsAfterFinished", Value: ttl})
}

// hasUID reports whether a Job, if there is one, has a uid.
func hasUID(job *batchv1.Job, uid types.UID) bool { return job != nil && job.UID == uid }

// controls reports whether an owner is the controller of a Job, if there is
// one.
func controls(owner metav1.Object, job *batchv1.Job) bool {
	if job == nil {
		return false
	}
	controller := metav1.GetControllerOfNoCopy(job)
	return controller != nil && controller.UID == owner.GetUID()
}

// ownerChanged is the answer to a caller whose copy of the owner is late.
func ownerChanged() Observation {
	return Observation{
		State: Pending, Source: sourceLiveRead, After: poll,
		Reason: reasonOwnerChanged, Message: messageOwnerChanged,
	}
}
