// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// start handles an owner that has recorded no Job.
func (c *call) start(ctx context.Context) (Observation, error) {
	owner := c.req.Owner
	c.ref = Ref{Namespace: c.ref.Namespace, Name: cmp.Or(c.req.Name, "run-"+string(owner.GetUID()))}
	job, err := c.inCache(ctx, c.ref.Namespace, c.ref.Name)
	if err != nil {
		return Observation{}, err
	}
	if controls(owner, job) {
		return c.adopt(ctx, job, sourceSeen)
	}
	if c.req.Done {
		return c.ended(NotCreated, sourceRef), nil
	}
	created, ok := c.refs.get(owner.GetUID())
	if ok && c.cached != nil {
		c.ref = created
		return Observation{State: Pending, Source: sourceCacheBehind, After: poll}, nil
	}
	if !c.req.Cancel && owner.GetDeletionTimestamp() == nil {
		return c.create(ctx)
	}
	job, err = c.inServer(ctx, c.ref.Namespace, c.ref.Name) // a call that was cut off may have created it
	if err != nil {
		return Observation{}, err
	}
	if controls(owner, job) {
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
	switch {
	case errors.As(err, &refused):
		return c.refused(ctx, job, err)
	case err != nil:
		return Observation{}, fmt.Errorf("create %s/%s within %s: %w",
			job.Namespace, job.Name, createTimeout, err)
	}
	return c.adopt(ctx, live, sourceLiveRead)
}

// build returns the Job to create. It has no TTL: until its outcome is
// recorded, nothing may delete it.
func (c *call) build() (*batchv1.Job, error) {
	job, err := c.req.Job()
	if err != nil {
		c.ofCaller = err
		return nil, err
	}
	if job == nil {
		return nil, errors.New("Request.Job returned neither a Job nor an error")
	}
	job = job.DeepCopy()
	job.Name = cmp.Or(job.Name, c.ref.Name)
	job.Namespace = cmp.Or(job.Namespace, c.ref.Namespace)
	owner := c.req.Owner
	switch {
	case job.Name != c.ref.Name:
		return nil, fmt.Errorf("job.metadata.name is %q, want %q or none", job.Name, c.ref.Name)
	case job.Namespace != c.ref.Namespace:
		return nil, fmt.Errorf("job.metadata.namespace is %q, want the namespace of owner, %q",
			job.Namespace, c.ref.Namespace)
	case !controls(owner, job):
		return nil, fmt.Errorf("job.metadata.ownerReferences: owner %s with the uid %s is not the "+
			"controller; use metav1.NewControllerRef", owner.GetName(), owner.GetUID())
	}
	if c.req.Suspend != nil {
		job.Spec.Suspend = ptr.To(*c.req.Suspend)
	}
	delete(job.Annotations, askedAnnotation) // of the Job that this one is a copy of
	asked := job.Spec.TTLSecondsAfterFinished
	if asked != nil {
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, askedAnnotation, strconv.Itoa(int(*asked)))
	}
	job.Spec.TTLSecondsAfterFinished = nil
	if hold(job, c.opts.Finalizer) != nil {
		job.Finalizers = append(job.Finalizers, c.opts.Finalizer)
	}
	return job, nil
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
	case controls(c.req.Owner, live):
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
	owner := c.req.Owner.GetUID()
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	c.ref = Ref{Namespace: c.ref.Namespace, Name: job.Name, UID: job.UID, CreatedAt: &now}
	created, _ := c.refs.get(owner)
	if created.UID == job.UID {
		c.ref.CreatedAt = created.CreatedAt // so that a caller can postpone the write of the Ref
	}
	if !c.req.Done && len(c.protecting(job)) > 0 {
		live, err := c.protect(ctx, job)
		if err != nil {
			return Observation{}, err
		}
		if !hasUID(live, job.UID) {
			c.ref.UID = ""
			return ownerChanged(), nil // the Job was deleted since
		}
		if live != job {
			source = sourceLiveRead
		}
		job = live
	}
	if created.UID != job.UID {
		c.refs.note(owner, c.ref)
	}
	return c.steer(ctx, job, source)
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
	if c.req.Owner.GetDeletionTimestamp() == nil {
		ops = append(ops, hold(job, c.opts.Finalizer)...)
	}
	return ops
}

// protect takes the TTL off a Job, and puts the finalizer on. If the API server
// refuses that, the Job does not change: it must not run again. After any
// other error the next call finds the Job by its name, so that no Ref is
// needed. It returns nil if the Job is gone, and another Job that has its name
// by now.
func (c *call) protect(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	after, err := c.patch(ctx, job, c.protecting(job))
	if apierrors.IsInvalid(err) { // the Job may have changed since it was read
		live, readErr := c.inServer(ctx, job.Namespace, job.Name)
		if readErr != nil {
			return nil, readErr
		}
		if !hasUID(live, job.UID) || len(c.protecting(live)) == 0 {
			return live, nil
		}
		job = live
		after, err = c.patch(ctx, job, c.protecting(job))
	}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		const message = "The API server refuses a patch of a Job that is taken over: " +
			"its TTL and finalizers stay"
		log := logr.FromContextOrDiscard(ctx).WithName("jobgc")
		log.Error(err, message, "namespace", c.ref.Namespace, "name", job.Name)
		return job, nil
	}
	return after, err
}
