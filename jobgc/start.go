// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start handles an owner that has recorded no Job.
func (c *call) start(ctx context.Context) (Observation, error) {
	c.ref = Ref{Namespace: c.ref.Namespace, Name: cmp.Or(c.req.Name, nameFor(c.req.Owner.GetUID()))}
	job, err := c.inCache(ctx, c.ref.Namespace, c.ref.Name)
	if err != nil {
		return Observation{}, err
	}
	if job != nil && controls(c.req.Owner, job) {
		return c.adopt(ctx, job, sourceSeen)
	}
	if c.req.Done {
		return c.ended(NotCreated, sourceRef), nil
	}
	ref, ok := c.refs.get(c.req.Owner.GetUID())
	if ok && ref.Name == c.ref.Name && c.cached != nil {
		c.ref = ref
		return Observation{State: Pending, Source: sourceCacheBehind, After: poll}, nil
	}
	if !c.req.Cancel && !c.isDeleting() {
		return c.create(ctx)
	}
	job, err = c.inServer(ctx, c.ref.Namespace, c.ref.Name) // a call that was cut off may have created it
	if err != nil {
		return Observation{}, err
	}
	if job != nil && controls(c.req.Owner, job) {
		return c.adopt(ctx, job, sourceLiveRead)
	}
	return c.ended(NotCreated, sourceLiveRead), nil
}

// create creates the Job, unless the caller's copy of the owner is late.
func (c *call) create(ctx context.Context) (Observation, error) {
	job, err := c.build()
	if err != nil {
		return Observation{}, err
	}
	within, stop := context.WithTimeout(ctx, createTimeout)
	defer stop()
	late, err := c.isLate(within)
	if err != nil {
		return Observation{}, err
	}
	if late {
		return ownerChanged(), nil
	}
	err = c.checkOthers(within)
	if err != nil {
		return Observation{}, err
	}
	jobs, err := c.jobsIn(job.Namespace)
	if err != nil {
		return Observation{}, err
	}
	if within.Err() != nil {
		return Observation{}, fmt.Errorf("create %s/%s: owner was read more than %s ago: %w",
			job.Namespace, job.Name, createTimeout, within.Err())
	}
	live, err := jobs.Create(within, job, metav1.CreateOptions{})
	if err == nil {
		err = checkJob(live, c.ref)
	}
	refused := apierrors.APIStatus(nil)
	if err != nil && !errors.As(err, &refused) {
		return Observation{}, fmt.Errorf("create %s/%s within %s: %w",
			job.Namespace, job.Name, createTimeout, err)
	}
	if err != nil {
		return c.refused(ctx, job, err)
	}
	live.Namespace = job.Namespace
	return c.adopt(ctx, live, sourceLiveRead)
}

// refused looks for the Job after a creation that the API server refused. A
// call whose answer was lost may have created it, and then it may itself use up
// the quota.
func (c *call) refused(ctx context.Context, job *batchv1.Job, refusal error) (Observation, error) {
	live, err := c.inServer(ctx, job.Namespace, job.Name)
	if err != nil {
		return Observation{}, fmt.Errorf("looking for the Job %s/%s, whose creation was refused (%v): %w",
			job.Namespace, job.Name, refusal, err) //nolint:errorlint // what refused is not the answer
	}
	switch {
	case live != nil && controls(c.req.Owner, live):
		return c.adopt(ctx, live, sourceLiveRead)
	case apierrors.HasStatusCause(refusal, corev1.NamespaceTerminatingCause):
		return Observation{
			State: NotCreated, Source: sourceLiveRead, Reason: reasonTerminating, Message: messageTerminating,
		}, nil
	case !apierrors.IsAlreadyExists(refusal):
		return Observation{}, fmt.Errorf("create %s/%s: %w", job.Namespace, job.Name, refusal)
	case live == nil:
		return ownerChanged(), nil // another replica may have recorded and released it
	}
	return Observation{}, nameTaken(job, live, c.req.Name != "")
}

// adopt goes on with a Job of this owner that no Ref has.
func (c *call) adopt(ctx context.Context, job *batchv1.Job, source string) (Observation, error) {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	c.ref = Ref{Namespace: c.ref.Namespace, Name: job.Name, UID: job.UID, CreatedAt: &now}
	known, ok := c.refs.get(c.req.Owner.GetUID())
	isKnown := ok && known.UID == job.UID
	if isKnown {
		c.ref.CreatedAt = known.CreatedAt // so that a caller can postpone the write of the Ref
	}
	safe := job
	if !c.req.Done && len(c.protecting(job)) > 0 {
		var err error
		safe, err = c.protect(ctx, job, source)
		if err != nil {
			return Observation{}, err
		}
		source = sourceLiveRead
	}
	if safe == nil || safe.UID != job.UID {
		c.ref.UID = ""
		return ownerChanged(), nil // the Job was deleted since
	}
	found, err := c.steer(ctx, safe, source)
	if err == nil && c.ref.Outcome == "" && !isKnown {
		c.refs.note(c.req.Owner.GetUID(), c.ref)
	}
	return found, err
}

func (c *call) holds(job *batchv1.Job) bool {
	return slices.Contains(job.Finalizers, c.opts.Finalizer)
}

// protecting returns the changes that make a Job stay until its outcome is
// recorded. Nothing helps a Job that has finished or is being deleted, and an
// owner that is being deleted does not wait for one.
func (c *call) protecting(job *batchv1.Job) []operation {
	if job.DeletionTimestamp != nil || StateOf(job).State == Finished {
		return nil
	}
	var ops []operation
	if job.Spec.TTLSecondsAfterFinished != nil {
		ops = append(ops, noteAsked(job)...)
		ops = append(ops, operation{Op: "remove", Path: "/spec/ttlSecondsAfterFinished"})
	}
	if c.opts.Finalizer != "" && !c.isDeleting() && !c.holds(job) {
		ops = append(ops, hold(job, c.opts.Finalizer)...)
	}
	return ops
}

// protect takes the TTL off a Job, and puts the finalizer on. If the API server
// refuses that, the Job does not change: it must not run again. After any
// other error the next call finds the Job by its name, so that no Ref is
// needed. It returns nil if the Job is gone, and another Job that has its name
// by now.
func (c *call) protect(ctx context.Context, job *batchv1.Job, source string) (*batchv1.Job, error) {
	if source == sourceSeen {
		live, err := c.inServer(ctx, job.Namespace, job.Name)
		if err != nil || live == nil || len(c.protecting(live)) == 0 {
			return live, err
		}
		job = live
	}
	after, err := c.patch(ctx, job, c.protecting(job))
	if apierrors.IsInvalid(err) { // the Job may have changed since it was read
		live, readErr := c.inServer(ctx, job.Namespace, job.Name)
		if readErr != nil || live == nil || live.UID != job.UID || len(c.protecting(live)) == 0 {
			return live, readErr
		}
		job = live
		after, err = c.patch(ctx, job, c.protecting(job))
	}
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		const message = "The API server refuses a patch of a Job that is taken over: " +
			"its TTL and finalizers stay"
		log := logr.FromContextOrDiscard(ctx).WithName("jobgc")
		log.Error(err, message, "namespace", c.ref.Namespace, "name", job.Name)
		return job, nil
	}
	return after, err
}
