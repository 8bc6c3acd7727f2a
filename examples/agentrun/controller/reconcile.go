// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
)

// errGone: the run was deleted while it was being reconciled. Its Job goes with
// it.
var errGone = errors.New("the run is gone")

// attempt is one reconcile of one run: the run as it was read, and the copy
// that is being changed.
type attempt struct {
	*Controller
	scope  *scope
	before *v1alpha1.AgentRun
	run    *v1alpha1.AgentRun
	facts  status.Facts
	read   bool // the run's Secret, or that there is none
}

// step moves one run as far as it can go now, and says when to look again if
// nothing happens before.
func (c *Controller) step(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	s := c.scope(key.Namespace)
	if s == nil {
		return 0, nil
	}
	before, found := s.cached(key)
	if !found || before.DeletionTimestamp != nil {
		return 0, c.abandon(ctx, s, key) // its Job goes with it
	}
	a := &attempt{Controller: c, scope: s, before: before, run: before.DeepCopy()}
	a.facts.Progress = a.run.Status.Phase.Progress()
	if a.facts.Progress == status.Done {
		if e, ok := c.unsure.LoadAndDelete(a.run.UID); ok {
			a.announce(ctx, e.(ending).failed) //nolint:forcetypeassert // nothing else is stored there
		}
	} else {
		after, err := a.advance(ctx)
		if err != nil {
			return 0, a.hindered(ctx, err)
		}
		if a.facts.Progress != status.Done {
			c.recorder.Failure(a.run, nil)
			if after == 0 {
				after = heartbeat
			}
			return after, nil
		}
		if a.run.Status.Phase != v1alpha1.Cancelled {
			return 0, nil // its Job is let go once the cache has its end, behind the runs that wait: somebody waits for those
		}
	}
	after, err := a.settle(ctx)
	return after, a.tell(ctx, err)
}

// advance takes a run that is not terminal as far as its Job allows.
func (a *attempt) advance(ctx context.Context) (time.Duration, error) {
	run := a.run
	if run.Status.JobRef == nil {
		if err := check(run); err != nil {
			return 0, a.end(ctx, v1alpha1.Failed, err)
		}
	}
	ref, found, err := a.scope.guard.Step(ctx, a.request(ctx))
	if apierrors.IsInvalid(err) && run.Status.JobRef == nil {
		return 0, a.end(ctx, v1alpha1.Failed, err)
	}
	if err != nil {
		return 0, err
	}
	if run.Status.JobRef = ref; found.State == jobgc.Cancelled {
		return 0, a.end(ctx, v1alpha1.Cancelled, nil)
	}
	if found.State == jobgc.Pending {
		return found.After, a.commit(ctx)
	}
	if found.Outcome == jobgc.Failed {
		found.Message = a.words(ctx, found.Message)
	}
	facts, failed := judged(run, found, time.Now())
	a.facts = facts
	if facts.Progress == status.Done {
		return 0, a.ended(ctx, failed)
	}
	return found.After, a.commit(ctx)
}

// request is what package jobgc has to know of the run.
func (a *attempt) request(ctx context.Context) jobgc.Request {
	run := a.run
	done := func(run *v1alpha1.AgentRun) bool { return run.Status.Phase.Progress() == status.Done }
	return jobgc.Request{
		Owner: run, Ref: run.Status.JobRef, Done: done(run), Suspend: &run.Spec.Suspend,
		Cancel: run.Status.Phase == v1alpha1.Cancelled || run.Spec.Cancel && !done(run),
		Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			live, err := a.runs(run.Namespace).Get(ctx, run.Name, metav1.GetOptions{})
			if err != nil {
				return nil, nil, false, err
			}
			return live, live.Status.JobRef, done(live), nil
		},
		Job: func() (*batchv1.Job, error) {
			if err := a.haveSecret(ctx); err != nil {
				return nil, err
			}
			return newJob(run)
		},
	}
}

// haveSecret looks whether the Secret that the run names is there.
func (a *attempt) haveSecret(ctx context.Context) error {
	ref := a.run.Spec.SecretRef
	if ref == nil {
		return nil
	}
	secret, err := a.secret(ctx)
	if absent(err) {
		return missingSecret(ref, false)
	}
	if err != nil {
		return err
	}
	if len(secret.Data[ref.Key]) == 0 {
		return missingSecret(ref, true)
	}
	return nil
}

// end makes the run terminal without the help of a Job.
func (a *attempt) end(ctx context.Context, phase v1alpha1.Phase, cause error) error {
	reason, message := reasonCancelled, ""
	if cause != nil {
		reason, _ = events.Classify(cause)
		cause = a.tell(ctx, cause)
		message = cause.Error()
	}
	enter(a.run, phase, reason, message, time.Now())
	a.facts.Progress = status.Done
	return a.ended(ctx, cause)
}

// ended records a terminal run first, and tells of it only then: a count or an
// event of something that was not recorded would come again. What another
// replica had recorded before, that one tells of.
func (a *attempt) ended(ctx context.Context, failed error) error {
	did, err := a.write(ctx)
	if err != nil {
		if !errors.Is(err, errGone) && !isOvertaken(err) && !apierrors.IsConflict(err) { // what says that it was not recorded
			a.unsure.Store(a.run.UID, ending{failed}) // where the answer was lost, it is recorded all the same
		}
		return err
	}
	if _, ours := a.unsure.LoadAndDelete(a.run.UID); ours || did != status.Unchanged {
		a.announce(ctx, failed)
	}
	return nil
}

// ending is what a run ended with: nil where it did not fail.
type ending struct{ failed error }

// announce tells of the end of a run as it is recorded.
func (a *attempt) announce(ctx context.Context, failed error) {
	st, result := a.run.Status, metrics.Success
	if failed == nil {
		a.recorder.Failure(a.run, nil)
		if st.Phase == v1alpha1.Cancelled {
			result = metrics.Canceled
		}
	} else {
		result = metrics.TerminalError
		a.recorder.FailureReason(a.run, st.Reason, failed)
		if st.Reason == reasonWorkflowJobMissing {
			a.measured.JobMissing()
		}
	}
	if st.StartedAt != nil && st.FinishedAt != nil {
		a.measured.End(ctx, st.FinishedAt.Sub(st.StartedAt.Time), result)
	}
	logr.FromContextOrDiscard(ctx).Info("run ended", "phase", st.Phase, "reason", st.Reason)
}

// hindered records what stands in the way of a run. It is tried again, ever
// less often.
func (a *attempt) hindered(ctx context.Context, cause error) error {
	if errors.Is(cause, errGone) || isOvertaken(cause) {
		return cause // nothing is wrong with the run: it is gone, or somebody else wrote and the next look decides anew
	}
	cause = a.tell(ctx, cause)
	if apierrors.IsConflict(cause) {
		return cause // the same
	}
	reason, _ := events.Classify(cause)
	if !apierrors.IsTooManyRequests(cause) && !a.outage.explains(cause, time.Now()) { // neither is a failure of the run
		a.recorder.Failure(a.run, cause)
	}
	run := a.before.DeepCopy() // what the attempt had in mind did not happen
	a.run = run
	hinder(run, reason, cause.Error(), time.Now())
	a.facts = status.Facts{Progress: run.Status.Phase.Progress()}
	if err := a.commit(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("the condition was not written", "why", a.tell(ctx, err).Error())
	}
	return cause
}

// commit writes the run's status, if it changed, and makes what was written the
// base of the next change.
func (a *attempt) commit(ctx context.Context) error {
	_, err := a.write(ctx)
	return err
}

// write is commit, and says what it did.
func (a *attempt) write(ctx context.Context) (status.Result, error) {
	did, err := a.status.Commit(ctx, a.before, a.run, a.facts)
	if err != nil {
		return did, err
	}
	if did == status.Gone {
		return did, errGone
	}
	a.before = a.run.DeepCopy()
	if did == status.Written {
		a.scope.written.Mutation(a.before)
	}
	return did, nil
}
