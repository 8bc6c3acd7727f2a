// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/status"
)

// attempt is one reconcile of one run: the run that was read, and the copy that
// changes.
type attempt struct {
	*Controller
	scope  *scope
	before *v1alpha1.AgentRun
	run    *v1alpha1.AgentRun
	facts  status.Facts
	read   bool     // all values of the run's Secret, or that there is none
	pins   []func() // release these values
	failed error    // what is wrong with a run that goes on
}

// key names the run.
func (a *attempt) key() types.NamespacedName {
	return cache.MetaObjectToName(a.before).AsNamespacedName()
}

// step moves one run as far as it can go now, and says when to look again if
// nothing happens before.
func (c *Controller) step(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	s, before := c.find(key)
	err := s.releaseOrphans(ctx, key, before)
	if before == nil {
		return 0, err
	}
	a := &attempt{Controller: c, scope: s, before: before, run: before.DeepCopy()}
	defer a.unpin()
	err = a.masked(ctx, err)
	if before.DeletionTimestamp != nil {
		return 0, err // its Job goes with it
	}
	if err != nil { // holds.Start tries again
		log := logr.FromContextOrDiscard(ctx)
		log.Error(err, "Job of an earlier run with this name is still held")
	}
	a.facts.Progress = before.Status.Phase.Progress()
	if before.Status.Phase.Terminal() {
		if why, ok := c.toAnnounce.LoadAndDelete(before.UID); ok {
			failed, _ := why.(error)
			a.announce(ctx, failed)
		}
	}
	after, err := a.advance(ctx)
	err = a.masked(ctx, err)
	if errors.Is(err, status.ErrStaleRead) {
		a.catchUp(ctx)
	}
	switch {
	case isOvertaken(err) && c.queue.NumRequeues(key) >= passesLimit:
		c.recorder.Failure(before, err)
		return 0, err
	case err != nil:
		return 0, a.recordDegraded(ctx, err)
	case a.facts.Progress == status.Done:
		return after, nil
	}
	c.recorder.Failure(a.run, a.failed)
	return cmp.Or(after, heartbeat), nil
}

// advance takes a run as far as its Job allows.
func (a *attempt) advance(ctx context.Context) (time.Duration, error) {
	if a.before.Status.Phase.Terminal() {
		return a.leave(ctx)
	}
	ref, found, err := a.scope.guard.Step(ctx, a.request(ctx))
	a.run.Status.JobRef = ref
	switch {
	case ref == nil && reasonOf(err) == events.InvalidSpec:
		refused := &failure{events.InvalidSpec, a.masked(ctx, err).Error()}
		setPhase(a.run, v1alpha1.Failed, refused.reason, refused.message, time.Now())
		return a.end(ctx, refused)
	case err != nil:
		return 0, err
	}
	if found.Outcome == jobgc.Failed {
		found.Message = a.maskedText(ctx, found.Reason+": "+found.Message)
	}
	if lacksPods(a.run, found, time.Now()) {
		confirmed, err := a.confirmNoPods(ctx)
		if err != nil || !confirmed {
			return podsTimeout, err // the cache gets the pods later, with an event
		}
	}
	a.apply(found)
	if a.facts.Progress == status.Done {
		return a.end(ctx, a.failed)
	}
	wait := a.untilStart(found)
	if wait > 0 {
		// One write says that the Job exists, and that it runs. It waits for
		// that time, and not for the runs that are queued before it.
		a.queue.AddFirst(a.key(), wait)
		return wait, nil
	}
	_, err = a.commit(ctx)
	if found.NoPods() && found.After == 0 {
		found.After = podsTimeout // no event reports that no pod comes
	}
	return found.After, err
}

// apply sets the run from the state of its Job, and keeps what the status and
// the Event have to say.
func (a *attempt) apply(found jobgc.Observation) {
	a.facts, a.failed = applyJob(a.run, found, time.Now())
	if a.isNew() && found.State == jobgc.Pending { // it exists, so the creation no longer fails
		setPhase(a.run, v1alpha1.Pending, reasonWaiting, "", time.Now())
	}
}

// isNew reports whether the Ref of the Job is not written yet.
func (a *attempt) isNew() bool { return a.before.Status.JobRef == nil && a.run.Status.JobRef != nil }

// catchUp reads the run live for the next attempt. A write whose answer was
// lost may be stored, and the watch may be broken for half a minute.
func (a *attempt) catchUp(ctx context.Context) {
	run, err := a.runs(a.before.Namespace).Get(ctx, a.before.Name, metav1.GetOptions{})
	if err == nil {
		a.scope.remember(run)
	}
}

// confirmNoPods reports whether the API server knows of no pod of the Job. The
// watch of Jobs may have been broken for long.
func (a *attempt) confirmNoPods(ctx context.Context) (bool, error) {
	ref := a.run.Status.JobRef
	job, err := a.cluster.BatchV1().Jobs(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil // the cache learns that too
	}
	if err != nil {
		return false, err
	}
	return jobgc.StateOf(job).NoPods(), nil
}

// end records the end of a run and leaves it. It does not wait until the cache
// has the end, because the watch may be broken.
func (a *attempt) end(ctx context.Context, failed error) (time.Duration, error) {
	err := a.recordEnd(ctx, failed)
	if err != nil {
		return 0, err
	}
	a.run = a.before.DeepCopy()
	return a.leave(ctx)
}

// leave releases the Job of a run that has ended, or deletes it if the run was
// cancelled. A Job that the cache lacks is gone: it has had the Job, which
// finished before the run ended, or it gets a Job that was just created later,
// with an event. So a run that has ended costs no request after its release.
func (a *attempt) leave(ctx context.Context) (after time.Duration, err error) {
	if a.hasJob(a.key()) {
		a.awaitEvent(ctx)
		if a.isAnnouncing() {
			a.queue.AddFirst(a.key(), eventTime)
			return eventTime, nil
		}
		ref, found, failed := a.scope.guard.Step(ctx, a.request(ctx))
		a.run.Status.JobRef = ref
		after, err = found.After, failed
	}
	_, failed := a.commit(ctx) // the generation, if someone edited the run
	return after, errors.Join(failed, err)
}

// untilStart is how long to wait for the start of a Job that is new and has not
// started, as far as the cache knows. It is zero for any other Job, and when
// the usual time is over: until the Ref is recorded, a Job that another client
// deletes unfinished is created again.
func (a *attempt) untilStart(f jobgc.Observation) time.Duration {
	if !a.isNew() {
		return 0
	}
	var created time.Time
	switch {
	case f.State == jobgc.Pending: // the cache does not show the Job yet
		created = a.run.Status.JobRef.CreatedAt.Time
	case f.State == jobgc.Active && f.StartedAt.IsZero():
		created = f.Job.CreationTimestamp.Time
	default:
		return 0
	}
	left := usualStart - time.Since(created).Abs()
	return max(left, 0)
}

// request is what package jobgc has to know of the run.
func (a *attempt) request(ctx context.Context) jobgc.Request {
	run := a.run
	done := run.Status.Phase.Terminal()
	var recorded *metav1.Time
	if a.before.Status.Phase.Terminal() {
		recorded = a.before.Status.UpdatedAt // as it was read, or written
	}
	return jobgc.Request{
		Owner: run, Ref: run.Status.JobRef, Done: done, RecordedAt: recorded, Suspend: &run.Spec.Suspend,
		Cancel: run.Status.Phase == v1alpha1.Cancelled || run.Spec.Cancel && !done,
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			stored, err := a.runs(run.Namespace).Get(ctx, run.Name, metav1.GetOptions{})
			return stored, stored.Status.JobRef, stored.Status.Phase.Terminal(), err
		},
		Job: func() (*batchv1.Job, error) {
			job, err := newJob(run)
			if err == nil {
				err = a.haveSecret(ctx)
			}
			return job, err
		},
	}
}

// recordEnd records a terminal run first, and only then announces it: a count
// or an Event of something that was not recorded would come again. What another
// replica had recorded before, that one announces.
func (a *attempt) recordEnd(ctx context.Context, failed error) error {
	a.facts.Progress = status.Done
	did, err := a.commit(ctx)
	if err != nil {
		if !isOvertaken(err) { // which says that it was not recorded
			a.toAnnounce.Store(a.run.UID, failed) // it is recorded if only the answer was lost
		}
		return err
	}
	_, ok := a.toAnnounce.LoadAndDelete(a.run.UID)
	if ok || did != status.Unchanged {
		a.announce(ctx, failed)
	}
	return nil
}

// recordDegraded records what keeps a run from going on. It is tried again,
// less and less often. An outage of the API server is not recorded, because
// that would cost two writes a run just when the server is back. Nor is what
// the server answers in the first moments. A timeout is recorded: it may be a
// webhook for this run alone. A timeout or a 429 that lasts gets an Event too.
func (a *attempt) recordDegraded(ctx context.Context, cause error) error {
	if isOvertaken(cause) {
		return cause // nothing is wrong with the run: it is gone, or someone else wrote
	}
	isUnanswered := unanswered(cause)
	away := isUnanswered && reasonOf(cause) != events.Timeout
	if away {
		a.outage.wasAway()
	}
	if away || a.isStarting(cause) {
		a.outage.fail(a.before.Namespace)
		return cause
	}
	a.outage.end()
	if a.before.Status.Phase.Terminal() {
		return cause
	}
	passes := isUnanswered || apierrors.IsTooManyRequests(cause) // then it is not a failure of the run
	if !passes || persists(a.before, reasonOf(cause), time.Now()) {
		a.recorder.Failure(a.run, cause)
	}
	a.run = a.before.DeepCopy() // what the attempt had in mind did not happen
	setDegraded(a.run, reasonOf(cause), cause.Error(), time.Now())
	a.facts = status.Facts{Progress: a.run.Status.Phase.Progress()}
	if _, err := a.commit(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("Condition not written", "why", a.masked(ctx, err).Error())
	}
	return cause
}

// isStarting reports whether err is the answer of an API server that was away a
// moment ago.
func (a *attempt) isStarting(err error) bool {
	if a.queue.NumRequeues(a.key()) >= passesLimit {
		return false
	}
	return mayBeStarting(err) && a.outage.mayStart()
}

// commit writes the run's status, if it changed. The written run becomes
// before: copy it to change it further.
func (a *attempt) commit(ctx context.Context) (status.Result, error) {
	did, err := a.status.Commit(ctx, a.before, a.run, a.facts)
	switch {
	case err != nil:
		return did, err
	case did == status.Gone:
		return did, status.ErrReplaced
	}
	a.before = a.run
	if did == status.Written || did == status.Merged {
		a.scope.remember(a.before)
	}
	return did, nil
}
