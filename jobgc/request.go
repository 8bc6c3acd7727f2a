// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Request is what one call of Step works on. Owner, Ref and Done are of the
// copy of the owner that was read. Step takes them for recorded: do not set
// Done in memory, and do not call Step twice in one reconcile.
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
	// the API server's NotFound for this owner, or another generation, Owner is
	// an old copy: Step returns no error, and releases at most. For a kind
	// without a generation, such as ConfigMap, the resourceVersion counts.
	// Annotations do not change a generation: what decides about the run
	// belongs in the spec.
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

	_ struct{}
}

// check returns an error for a request that Step refuses.
func (r Request) check() error {
	switch {
	case isnil.Is(r.Owner):
		return errors.New("Request.Owner is nil; pass the object that was read")
	case r.Owner.GetUID() == "", r.Owner.GetName() == "":
		return errors.New("Request.Owner needs a name and a uid; pass the object that was read")
	case r.Stored == nil:
		return errors.New("Request.Stored is nil; pass a live read of the owner")
	case r.Job == nil:
		return errors.New("Request.Job is nil; pass a function that returns the Job")
	}
	ref := ptr.Deref(r.Ref, Ref{})
	if ref.UID != "" && ref.Name == "" {
		return errors.New("Request.Ref.Name is empty, and its UID is not; pass the Ref that Step returned")
	}
	if ref.UID == "" {
		err := r.checkUnknown(ref)
		if err != nil {
			return err
		}
	}
	return r.checkNamespace(ref)
}

// checkUnknown checks the Ref of a Job that is not known to exist.
func (r Request) checkUnknown(ref Ref) error {
	if cmp.Or(ref.Name, r.Name) != r.Name {
		return fmt.Errorf("Request.Ref has the name %q and no uid; to take over the Job of that name, set "+
			"Request.Name to it", ref.Name)
	}
	if ref.Outcome != "" {
		return errors.New("Request.Ref.UID is empty, and its Outcome is not; pass the Ref that Step returned")
	}
	return nil
}

// checkNamespace checks the namespace of the Job. The owner decides it, if it
// has one. Otherwise the Ref keeps what Request.Namespace was at the creation.
func (r Request) checkNamespace(ref Ref) error {
	owner := r.Owner.GetNamespace()
	if owner == "" {
		if cmp.Or(ref.Namespace, r.Namespace) == "" {
			return errors.New("Request.Namespace is empty, and Request.Owner has no namespace; set the " +
				"namespace of the Job")
		}
		return nil
	}
	if cmp.Or(r.Namespace, owner) != owner {
		return fmt.Errorf("Request.Namespace is %q, want the namespace of Request.Owner, %q, or none",
			r.Namespace, owner)
	}
	if cmp.Or(ref.Namespace, owner) != owner {
		return fmt.Errorf("Request.Ref.Namespace is %q, want the namespace of Request.Owner, %q",
			ref.Namespace, owner)
	}
	return nil
}
