// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Request is what one call of Step works on.
type Request struct {
	// Owner is the caller's copy of the object that owns the Job. It may come
	// from a cache.
	Owner metav1.Object

	// Ref is the one in the status of Owner; nil if there is none yet.
	Ref *Ref

	// Done says that the status of Owner is final: its run has succeeded, has
	// failed, is lost or is cancelled.
	Done bool

	// RecordedAt is when the stored status of Owner became final, or was
	// written after that, by the controller's clock. UpdatedAt of package
	// status is such a time. Take Done and RecordedAt from the status that was
	// read, or that a write returned: if Done is in memory only, Step releases
	// or deletes the Job of a run whose end is not stored. Nil means that the
	// time is not known.
	//
	// Within a minute of it, Step releases or deletes the Job without a call of
	// Stored, if Ref is set and the Job has not come back. Later it calls
	// Stored, because the API server's store may have been restored from a
	// backup. Without Done it has no effect.
	RecordedAt *metav1.Time

	// Cancel stops the run: Step suspends its Job. With
	// Options.DeleteCancelled, Step deletes the Job once the cancellation is
	// recorded. It is final: if it is set to false again and Suspend is nil,
	// the Job stays suspended.
	Cancel bool

	// Suspend sets spec.suspend of the Job. Nil does not change it, so that a
	// queue such as Kueue can decide. Set Options.DeleteCancelled then, because
	// the queue resumes a Job that Cancel suspends.
	Suspend *bool

	// Stored reads the owner from the API server, not from a cache, and returns
	// it, with its generation, and the Ref and Done of its status. Step calls
	// it only before it creates, resumes, releases or deletes a Job, suspends
	// one by Suspend, or reports a loss: once, or twice if the Job is lost
	// during the call. If Stored returns the API server's NotFound for this
	// owner, Step changes nothing and returns no error.
	Stored func(ctx context.Context) (owner metav1.Object, ref *Ref, done bool, err error)

	// Name of the Job of an owner that has no Ref, if people know the names of
	// its Jobs: at most 63 lower-case letters, digits, '-' and '.'. Zero means
	// run-<uid of Owner>. Each owner needs a different name. A Job of this name
	// that Owner controls is taken over, also if it has finished: Step puts it
	// into the Ref, and gives it the annotations, the TTL and the finalizer of
	// a Job that Step creates, which costs a read and a patch. If the owner was
	// Done before, its Job stays as it is and the Ref stays nil; only a Job
	// that a cancellation still has to stop is taken over. If another owner
	// controls the Job, or none, Step returns an error. A Ref that has a name
	// keeps it.
	//
	// While Name is empty, Step returns an error instead of creating a Job if
	// the informer has an unfinished Job that Owner controls and Step has not
	// created: it may do the same work. With a Name, other Jobs of Owner are
	// the caller's business.
	Name string

	// Job builds the Job. Step calls it at most once. Owner must be its
	// controller. Its name is empty, or Name, or run-<uid of Owner>. Its
	// ttlSecondsAfterFinished, if set, replaces SucceededTTL and FailedTTL. It
	// counts from the release: once its outcome is recorded, the Job gets it
	// plus the seconds since it has finished.
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
	ref := Ref{}
	if r.Ref != nil {
		ref = *r.Ref
	}
	if ref.UID == "" && r.Name != "" {
		err := checkName(r.Name)
		if err != nil {
			return err
		}
	}
	namespace := r.Owner.GetNamespace()
	switch {
	case ref.UID != "" && ref.Name == "":
		return errors.New("Request.Ref.Name is empty, and its UID is not; pass the Ref that Step returned")
	case ref.UID == "" && ref.Name != "" && ref.Name != r.Name:
		return fmt.Errorf("Request.Ref has the name %q and no uid; to take over the Job of that name, set "+
			"Request.Name to it", ref.Name)
	case ref.UID == "" && ref.Outcome != "":
		return errors.New("Request.Ref.UID is empty, and its Outcome is not; pass the Ref that Step returned")
	case namespace != "" && ref.Namespace != "" && ref.Namespace != namespace:
		return fmt.Errorf("Request.Ref.Namespace is %q, want the namespace of Request.Owner, %q",
			ref.Namespace, namespace)
	}
	return nil
}

// nameFor is the name of the Job of an owner that names none.
func nameFor(owner types.UID) string { return "run-" + string(owner) }

// nameOf is the namespace and the name of an object.
func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// checkName returns an error for a Request.Name that no Job can have.
func checkName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if len(problems) == 0 && len(name) <= validation.LabelValueMaxLength {
		return nil
	}
	return fmt.Errorf("Request.Name is %q; want at most 63 lower-case letters, digits, '-' and '.', "+
		"with a letter or a digit at each end and at each dot, such as nightly-1", name)
}
