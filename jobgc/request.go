// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// Request is what one call of Step works on. Owner, Ref and Done are of the
// copy of the owner that was read. It is a misuse to set Done in memory, or
// to call Step twice in one reconcile: the second call would take for recorded
// what only the memory has.
type Request struct {
	// Owner is the caller's copy of the object that owns the Job. It may come
	// from a cache.
	Owner metav1.Object

	// Ref is the one in the status of Owner; nil if there is none yet.
	Ref *Ref

	// Done says that the status of Owner is final: its run has succeeded, has
	// failed, is lost or is cancelled.
	Done bool

	// Cancel stops the run: Step suspends its Job, which ends its pods, and
	// deletes the Job once Done says that the cancellation is recorded. It is
	// final: if it is set to false again and Suspend is nil, the Job stays
	// suspended.
	Cancel bool

	// Suspend sets spec.suspend of the Job. Nil does not change it, so that a
	// queue such as Kueue can decide.
	Suspend *bool

	// Stored reads the owner from the API server, not from a cache, and returns
	// it with the Ref and Done of its status. Step calls it before it creates,
	// suspends, resumes or deletes a Job, before it reports a loss, and before
	// it releases a finished Job whose Outcome is not in Ref. If Stored returns
	// the API server's NotFound for this owner, Step changes nothing and
	// returns no error. If the generation differs, Owner is an old copy and
	// Step changes nothing; for a kind without a generation, such as ConfigMap,
	// the resourceVersion counts. Annotations do not change a generation: what
	// decides about the run belongs in the spec.
	Stored func(ctx context.Context) (owner metav1.Object, ref *Ref, done bool, err error)

	// Name of the Job of an owner that has no Ref, if people know the names of
	// its Jobs: at most 63 lower-case letters, digits, '-' and '.'. Zero means
	// run-<uid of Owner>. Each owner needs a different name, which must not
	// change while it has no Ref. A Job of this name that Owner controls is
	// taken over, also if it has finished. If another owner controls the Job,
	// or none, Step returns an error. A Ref that has a uid keeps its name.
	Name string

	// Namespace of the Job of an owner that has none. Zero is the namespace of
	// Owner. A Ref that has a uid keeps its namespace.
	Namespace string

	// Job builds the Job. Step calls it at most once, and only to create a Job.
	// Owner must be its controller. Its name is empty, or Name, or run-<uid of
	// Owner>. Its ttlSecondsAfterFinished, if set, replaces the retention, and
	// counts from the record of its outcome.
	Job func() (*batchv1.Job, error)

	// Retention replaces Options.Retention. Nil keeps it.
	Retention *Retention

	_ struct{}
}

// check returns an error for a request that Step refuses.
func (r Request) check() error {
	switch {
	case isnil.Is(r.Owner):
		return errors.New("Request.Owner is nil; pass the object that was read")
	case r.Owner.GetUID() == "" || r.Owner.GetName() == "":
		return errors.New("Request.Owner needs a name and a uid; pass the object that was read")
	case r.Stored == nil:
		return errors.New("Request.Stored is nil; pass a live read of the owner")
	case r.Job == nil:
		return errors.New("Request.Job is nil; pass a function that returns the Job")
	}
	if r.Retention != nil {
		err := errors.Join(r.Retention.check()...)
		if err != nil {
			return err
		}
	}
	return r.checkRef()
}

func (r Request) checkRef() error {
	ref := ptr.Deref(r.Ref, Ref{})
	if ref.UID == "" && r.Name != "" {
		err := checkName(r.Name)
		if err != nil {
			return err
		}
	}
	namespace := cmp.Or(r.Owner.GetNamespace(), r.Namespace)
	switch {
	case ref.UID != "" && ref.Name == "":
		return errors.New("Request.Ref.Name is empty, and its UID is not; pass the Ref that Step returned")
	case ref.UID == "" && ref.Name != "" && ref.Name != r.Name:
		return fmt.Errorf("Request.Ref has the name %q and no uid; to take over the Job of that name, set "+
			"Request.Name to it", ref.Name)
	case ref.UID == "" && ref.Outcome != "":
		return errors.New("Request.Ref.UID is empty, and its Outcome is not; pass the Ref that Step returned")
	case namespace == "" && ref.Namespace == "":
		return errors.New("Request.Namespace is empty, and Request.Owner has no namespace; set the " +
			"namespace of the Job")
	case r.Namespace != "" && r.Namespace != namespace:
		return fmt.Errorf("Request.Namespace is %q, want the namespace of Request.Owner, %q, or none",
			r.Namespace, namespace)
	case ref.UID != "" && r.Owner.GetNamespace() == "":
		return nil // the Ref keeps its namespace
	case namespace != "" && ref.Namespace != "" && ref.Namespace != namespace:
		return fmt.Errorf("Request.Ref.Namespace is %q, want the namespace of Request.Owner, %q",
			ref.Namespace, namespace)
	}
	return nil
}

// nameFor is the name of the Job of an owner that names none.
func nameFor(owner types.UID) string { return "run-" + string(owner) }

// checkName returns an error for a Request.Name that no Job can have.
func checkName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if len(problems) == 0 && len(name) <= validation.LabelValueMaxLength {
		return nil
	}
	return fmt.Errorf("Request.Name is %q; want at most 63 lower-case letters, digits, '-' and '.', "+
		"with a letter or a digit at each end and at each dot, such as nightly-1", name)
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
	err = checkLength(job)
	if err != nil {
		return nil, err
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
	if c.opts.Finalizer != "" && !c.holds(job) {
		job.Finalizers = append(job.Finalizers, c.opts.Finalizer)
	}
	return job, nil
}

// checkLength checks the length of the name. Pods carry it as a label. The pods
// of an Indexed Job have it, with their index behind it, as their host name.
func checkLength(job *batchv1.Job) error {
	const most = 63
	length := len(job.Name)
	what := ""
	indexed := ptr.Deref(job.Spec.CompletionMode, "") == batchv1.IndexedCompletion
	if indexed && job.Spec.Completions != nil {
		length += len("-") + len(strconv.Itoa(int(max(*job.Spec.Completions, 1)-1)))
		what = fmt.Sprintf(" with the index of %d completions behind it", *job.Spec.Completions)
	}
	if length > most {
		return fmt.Errorf("job.metadata.name: %q%s has %d bytes; want at most %d",
			job.Name, what, length, most)
	}
	return nil
}

// stored is the owner in the API server.
type stored struct {
	owner metav1.Object // nil: it is gone
	ref   Ref
	done  bool
}

// readOwner calls Request.Stored.
func (c *call) readOwner(ctx context.Context) (stored, error) {
	owner, ref, done, err := c.req.Stored(ctx)
	gone, err := notfound.Is(err, schema.GroupResource{}, c.req.Owner.GetName())
	if gone {
		return stored{}, nil
	}
	if err != nil {
		return stored{}, fmt.Errorf("Request.Stored: %w", err)
	}
	if isnil.Is(owner) {
		return stored{}, errors.New("Request.Stored returned neither an owner nor an error")
	}
	want := c.req.Owner
	isNamed := owner.GetNamespace() == want.GetNamespace() && owner.GetName() == want.GetName()
	if !isNamed || owner.GetUID() == "" {
		return stored{}, fmt.Errorf("Request.Stored returned %s/%s with the uid %q, want %s/%s and a uid",
			owner.GetNamespace(), owner.GetName(), owner.GetUID(), want.GetNamespace(), want.GetName())
	}
	if owner.GetUID() != want.GetUID() {
		return stored{}, nil
	}
	return stored{owner, ptr.Deref(ref, Ref{}), done}, nil
}

// isLate reports whether the caller's copy of the owner differs from the stored
// one in what Step decides by.
func (c *call) isLate(ctx context.Context) (bool, error) {
	s, err := c.readOwner(ctx)
	if err != nil || s.owner == nil {
		return true, err
	}
	mine := ptr.Deref(c.req.Ref, Ref{})
	isDeleting := s.owner.GetDeletionTimestamp() != nil
	switch {
	case s.owner.GetGeneration() != c.req.Owner.GetGeneration(), isDeleting != c.isDeleting():
		return true, nil
	case s.owner.GetGeneration() == 0 && s.owner.GetResourceVersion() != c.req.Owner.GetResourceVersion():
		return true, nil // a kind without a generation, such as a ConfigMap
	case s.ref.UID != mine.UID, s.ref.Outcome != mine.Outcome, s.done != c.req.Done:
		return true, nil
	}
	return false, nil
}

// isStored reports whether the API server has the end of the run, or has no
// owner that waits for it.
func (c *call) isStored(ctx context.Context) (bool, error) {
	s, err := c.readOwner(ctx)
	if err != nil || s.owner == nil {
		return err == nil, err
	}
	return s.done || s.ref.Outcome != "", nil
}
