// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/proompteng/controllerkit/status"
)

// Committer writes a status under the contract. A [status.Writer] is one.
type Committer interface {
	Commit(ctx context.Context, before, after status.Object, f status.Facts) (status.Result, error)
}

// Kind is a kind of object under test, with the client of its controller.
type Kind[T status.Object] struct {
	// Writer writes the status, like the one of the controller. Its Heartbeat
	// must be longer than a minute.
	Writer Committer
	// FieldNames are the names of the contract's fields. Run takes them from a
	// Writer that is a [status.Writer]. Set "-" for each field that the kind
	// does not have, also for conditions: Run then leaves out what needs it.
	FieldNames status.FieldNames

	// Create creates an object without a status, and returns it as stored. Each
	// case calls it once. With a fake client, it sets the uid, the generation
	// and the resourceVersion, as an API server does.
	Create func(t *testing.T) T
	// Get reads an object. o has only its type, namespace and name. A client
	// that fills an object may return o.
	Get func(ctx context.Context, o T) (T, error)
	// Patch writes like another program, to the object and to the subresource
	// status. It fills o, which has only a name, a namespace and a kind.
	Patch func(ctx context.Context, o status.Object, subresource string, data []byte) error

	// Set changes the status like a reconcile. Each n, from 1 to 3, sets
	// another value of one field that is not a condition. Set also sets the
	// fields that the schema requires.
	Set func(o T, n int)
	// Spec is a merge patch that changes a new object's spec, such as
	// {"image":"other"}.
	Spec string

	// Pruned sets a field of the status that the schema does not declare.
	Pruned func(o T)
	// Defaulted unsets a field of the status that the schema has a default for.
	Defaulted func(o T)
	// Nullable sets a field to null that the schema requires, and lets be null.
	Nullable func(o T)
	// Required sets a field to zero that the schema requires.
	Required func(o T)
	// Refused sets a field to a value that the API server refuses, such as a
	// text of 2 MiB, or a value that the schema forbids.
	Refused func(o T)

	// NoSchema is the reason why a function of these five is nil: the client
	// is a fake one, which does not have a schema, or the schema does not have
	// such a field.
	NoSchema string
	// NoConflicts is the reason why a patch with an outdated resourceVersion is
	// not a conflict, as with the fakes of client-go. Run then leaves out the
	// cases of two writers.
	NoConflicts string
}

// complete returns a copy of k with all names, or an error for a missing field.
func (k Kind[T]) complete() (Kind[T], error) {
	missing := func(field, want string) error {
		return errors.New("status/statustest: Kind." + field + " is not set; want " + want)
	}
	switch {
	case k.Writer == nil:
		return k, missing("Writer", "the Writer of the controller")
	case k.Create == nil:
		return k, missing("Create", "a function that creates an object without a status")
	case k.Get == nil:
		return k, missing("Get", "a function that reads an object")
	case k.Patch == nil:
		return k, missing("Patch", "a function that sends a merge patch")
	case k.Set == nil:
		return k, missing("Set", "a function that sets the nth value of a field")
	}
	w, ok := k.Writer.(status.Writer)
	if ok {
		k.FieldNames = w.FieldNames
	}
	n := &k.FieldNames
	n.ObservedGeneration = cmp.Or(n.ObservedGeneration, "observedGeneration")
	n.UpdatedAt = cmp.Or(n.UpdatedAt, "updatedAt")
	n.StartedAt = cmp.Or(n.StartedAt, "startedAt")
	n.FinishedAt = cmp.Or(n.FinishedAt, "finishedAt")
	n.Conditions = cmp.Or(n.Conditions, "conditions")
	if k.Spec == "" && n.ObservedGeneration != absent {
		return k, missing("Spec", `a merge patch that changes the spec, such as {"image":"other"}`)
	}
	return k, nil
}
