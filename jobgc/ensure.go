// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// ErrNotOwned is returned by Ensure when the name belongs to a Job of another
// controller. It stays so until someone renames or deletes one of the two.
var ErrNotOwned = errors.New("jobgc: the name belongs to the Job of another controller")

// ErrTerminating is returned by Ensure when an earlier Job of that name is
// being deleted, or is about to be because its owner is gone. Try again in a
// few seconds.
var ErrTerminating = errors.New("jobgc: an earlier Job of that name is still being deleted")

// Ensure creates the Job and returns the Ref to persist. If an earlier attempt
// of the same controller created the Job and did not record it, Ensure adopts
// that Job. It may be called any number of times, also by two replicas: the
// work runs once, with two exceptions. Someone deletes the Job before its Ref
// is persisted, or the Job is gone and the caller's copy of the owner is older
// than its Ref. In both cases Ensure finds no sign of the Job and creates
// another. Options.Finalizer prevents both until the Release, and a live read
// of the owner prevents the second. If ref has a UID, Ensure does nothing:
// Inspect finds a lost Job, and Ensure never runs it again by surprise.
//
// The job must have the name of ref, the same namespace, and a controller owner
// reference; metav1.NewControllerRef makes one. Either namespace may be empty,
// but not both. Ensure does not change job. It creates a copy that has the
// finalizer of Options.Finalizer and the retention as an annotation. The
// backstop TTL of Options.Retention replaces a missing or shorter TTL.
//
// If the name belongs to a Job of another controller, Ensure returns
// ErrNotOwned. If the Job is being deleted, it returns ErrTerminating. There
// are two exceptions, both for a Job of the same controller: Ensure adopts it
// if it has finished, because its outcome is known, and if it carries
// Options.Finalizer, because only its Ref can release it. An adopted Job keeps
// the finalizers that it has. An error of the API server is wrapped. The next
// call recovers from it, whether the Job was created or not.
func (g *Guard[J]) Ensure(ctx context.Context, ref Ref, job *batchv1.Job) (Ref, error) {
	if !g.made() {
		return ref, errNotMade()
	}
	if ref.UID != "" {
		return ref, nil
	}
	ref, err := checked(ref, job)
	if err != nil {
		return ref, err
	}
	jobs, owner := g.client(ref.Namespace), metav1.GetControllerOfNoCopy(job)
	if isnil.Is(jobs) {
		return ref, fmt.Errorf("jobgc: ensure: the client of namespace %s is nil", ref.Namespace)
	}
	job = g.prepared(job, ref.Namespace, g.opts.Retention)
	// A Job of that name may vanish between the answer that it exists and the
	// look at it.
	exists := ""
	for range 3 {
		live, err := jobs.Create(ctx, job, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			exists = err.Error() // not wrapped: a caller might test for AlreadyExists
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
		ref.CreatedAt = ptr.To(metav1.NewTime(g.now().Truncate(time.Second)))
		return ref, nil
	}
	return ref, fmt.Errorf("%w: %s/%s: %s", ErrTerminating, ref.Namespace, ref.Name, exists)
}

// checked completes the namespace of ref, or returns what makes ref or job
// invalid.
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
func (g *Guard[J]) prepared(job *batchv1.Job, namespace string, retention Retention) *batchv1.Job {
	job = job.DeepCopy()
	job.Namespace = namespace
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	delete(job.Annotations, releasedAnnotation) // of the Job that this one is a copy of
	job.Annotations[annotation] = retention.text()
	// Only here: once a deletion has begun the API server lets no finalizer be
	// added.
	if g.opts.Finalizer != "" && !hasFinalizer(job, g.opts.Finalizer) {
		job.Finalizers = append(job.Finalizers, g.opts.Finalizer)
	}
	asked := job.Spec.TTLSecondsAfterFinished
	job.Spec.TTLSecondsAfterFinished = retention.atCreation(asked)
	if delete(job.Annotations, askedAnnotation); asked != nil {
		job.Annotations[askedAnnotation] = strconv.Itoa(int(*asked))
	}
	return job
}

// adoptable returns nil if the existing Job of that name is the Job of owner.
func (g *Guard[J]) adoptable(live *batchv1.Job, owner *metav1.OwnerReference) error {
	has := metav1.GetControllerOfNoCopy(live)
	ours := has != nil && has.UID == owner.UID
	if ours && (live.DeletionTimestamp == nil || StateOf(live).State == Finished || hasFinalizer(live, g.opts.Finalizer)) {
		return nil
	}
	// If the controller is an earlier owner of the same name, it is gone, and
	// the garbage collector will delete its Job.
	predecessor := has != nil && has.Kind == owner.Kind && has.Name == owner.Name && has.APIVersion == owner.APIVersion
	switch {
	case live.DeletionTimestamp != nil || predecessor:
		return fmt.Errorf("%w: %s/%s", ErrTerminating, live.Namespace, live.Name)
	case has == nil:
		return fmt.Errorf("%w: %s/%s has no controller", ErrNotOwned, live.Namespace, live.Name)
	}
	return fmt.Errorf("%w: %s/%s is controlled by %s %s", ErrNotOwned, live.Namespace, live.Name, has.Kind, has.Name)
}
