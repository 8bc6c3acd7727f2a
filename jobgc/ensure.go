// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNotOurs is returned by Ensure when the name belongs to a Job of another controller. It stays so until someone
// renames or deletes one of the two.
var ErrNotOurs = errors.New("jobgc: the name belongs to the Job of another controller")

// ErrTerminating is returned by Ensure when an earlier Job of that name is being deleted, or is about to be because its
// owner is gone. Try again in a few seconds.
var ErrTerminating = errors.New("jobgc: an earlier Job of that name is still being deleted")

// Ensure creates the Job, or adopts the one that an earlier attempt of the same controller created and did not record,
// and returns the Ref to persist. It may be called any number of times, also by two replicas: the work runs once, but where a
// Job is deleted before its Ref is persisted, or the caller's copy of the owner is from before that. Nothing tells then of the Job, and
// another is made. Options.Hold closes both until the Release, and a live read of the owner the second.
// With a UID in ref it does nothing: a Job that is lost is found by Look and never run again by surprise.
//
// The job must have the name of ref, the same namespace (either may leave it empty, not both), and a controller owner
// reference; metav1.NewControllerRef makes one. It is not changed: what is created is a copy with the backstop TTL of
// Options.Retention in place of none or a shorter one, with the finalizer of Options.Hold, and with the retention as an
// annotation.
//
// A Job of another controller gives ErrNotOurs, and one that is being deleted ErrTerminating, unless it is of the same
// controller and has finished, for its outcome is known, or carries Options.Hold, which nothing but its Ref can release:
// then it is adopted. An adopted Job keeps the finalizers that it has. An error of the API server is wrapped;
// whether it created the Job or not, the next call puts it right.
func (g *Guard[J]) Ensure(ctx context.Context, ref Ref, job *batchv1.Job) (Ref, error) {
	if ref.UID != "" {
		return ref, nil
	}
	ref, err := checked(ref, job)
	if err != nil {
		return ref, err
	}
	jobs, owner := g.client(ref.Namespace), metav1.GetControllerOfNoCopy(job)
	if isNil(jobs) {
		return ref, fmt.Errorf("jobgc: ensure: the client of namespace %s is nil", ref.Namespace)
	}
	job = g.prepared(job, ref.Namespace)
	// A Job of that name may vanish between the answer that it exists and the look at it.
	exists := ""
	for range 3 {
		live, err := jobs.Create(ctx, job, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			exists = err.Error() // not wrapped: a caller might take it for what it asked for
			live, err = jobs.Get(ctx, ref.Name, metav1.GetOptions{})
			var missing bool
			if missing, err = isGone(err, ref); missing {
				continue
			}
			if err == nil && live != nil {
				if err := g.adoptable(live, owner); err != nil {
					return ref, err
				}
			}
		}
		if err != nil {
			return ref, fmt.Errorf("jobgc: ensure: %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		if live == nil || live.UID == "" {
			return ref, fmt.Errorf("jobgc: ensure: %s/%s: the client returned a Job without a uid", ref.Namespace, ref.Name)
		}
		ref.UID, ref.ResourceVersion = live.UID, live.ResourceVersion
		ref.CreatedAt = new(metav1.NewTime(time.Now().Truncate(time.Second)))
		return ref, nil
	}
	return ref, fmt.Errorf("%w: %s/%s: %s", ErrTerminating, ref.Namespace, ref.Name, exists)
}

// checked completes the namespace of ref, or says what is wrong with ref and job.
func checked(ref Ref, job *batchv1.Job) (Ref, error) {
	if job == nil {
		return ref, errors.New("jobgc: ensure: the job is nil")
	}
	out := ref
	if out.Namespace == "" {
		out.Namespace = job.Namespace
	}
	owner := metav1.GetControllerOfNoCopy(job)
	switch {
	case ref.Name == "":
		return ref, errors.New("jobgc: ensure: ref.name is empty")
	case job.Name != ref.Name:
		return ref, fmt.Errorf("jobgc: ensure: job.metadata.name is %q, want ref.name %q", job.Name, ref.Name)
	case out.Namespace == "":
		return ref, errors.New("jobgc: ensure: ref.namespace and job.metadata.namespace are empty")
	case job.Namespace != "" && job.Namespace != out.Namespace:
		return ref, fmt.Errorf("jobgc: ensure: job.metadata.namespace is %q, want ref.namespace %q", job.Namespace, out.Namespace)
	case owner == nil:
		return ref, errors.New("jobgc: ensure: job.metadata.ownerReferences has no controller")
	case owner.UID == "":
		return ref, errors.New("jobgc: ensure: the controller in job.metadata.ownerReferences has no uid")
	}
	return out, nil
}

// prepared is the Job to create.
func (g *Guard[J]) prepared(job *batchv1.Job, namespace string) *batchv1.Job {
	job = job.DeepCopy()
	job.Namespace = namespace
	delete(job.Annotations, releasedAnnotation) // of the Job that this one is a copy of
	if _, ok := job.Annotations[annotation]; !ok {
		g.opts.Retention.Annotate(job)
	}
	// Only here: once a deletion has begun the API server lets no finalizer be added.
	if g.opts.Hold != "" && !g.held(job) {
		job.Finalizers = append(job.Finalizers, g.opts.Hold)
	}
	backstop, ttl := g.opts.Retention.AtCreate(), job.Spec.TTLSecondsAfterFinished
	if backstop == nil || ttl == nil || *ttl < *backstop {
		job.Spec.TTLSecondsAfterFinished = backstop
	}
	return job
}

// adoptable says whether a Job that has the name already is the one that owner wants.
func (g *Guard[J]) adoptable(live *batchv1.Job, owner *metav1.OwnerReference) error {
	has := metav1.GetControllerOfNoCopy(live)
	ours := has != nil && has.UID == owner.UID
	if ours && (live.DeletionTimestamp == nil || Judge(live).State == Finished || g.held(live)) {
		return nil
	}
	// An owner of before that had the same name is gone, and the garbage collector is on its way.
	predecessor := has != nil && has.Kind == owner.Kind && has.Name == owner.Name && has.APIVersion == owner.APIVersion
	switch {
	case live.DeletionTimestamp != nil || predecessor:
		return fmt.Errorf("%w: %s/%s", ErrTerminating, live.Namespace, live.Name)
	case has == nil:
		return fmt.Errorf("%w: %s/%s has no controller", ErrNotOurs, live.Namespace, live.Name)
	}
	return fmt.Errorf("%w: %s/%s is controlled by %s %s", ErrNotOurs, live.Namespace, live.Name, has.Kind, has.Name)
}
