// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Writer writes the status of objects. Make one with [ForClient] or
// [ForResource] where you make the reconciler, set its fields, and share it by
// all goroutines. A copy shares the client of the original, and its memory of
// the last writes. A Writer that is made in each reconcile remembers nothing.
// Commit of the zero Writer returns an error.
//
// In a reconciler that embeds client.Client, call the field Writer. A field
// called Status would hide the method r.Status.
type Writer struct {
	// FieldNames says what the kind calls the contract's fields. Zero means the
	// names of [Stamp].
	FieldNames FieldNames
	// Owned lists the condition types that only this controller writes. If both
	// sides of a conflict changed such a condition, Commit keeps this
	// controller's. It keeps the stored one if that is of a newer generation
	// and this controller did not remove the condition. [Writer.SetConditions]
	// sets them all. Empty means none.
	Owned []string
	// FieldManager is the name to leave in managedFields. Empty means that the
	// API server derives one from the user agent. With [ForClient] it is an
	// error of a Commit that writes: wrap the client with
	// client.WithFieldOwner.
	FieldManager string
	// Heartbeat is how old updatedAt may become before a Commit with nothing
	// else to write refreshes it. An updatedAt that does not move then shows a
	// stuck controller. Commit refreshes only objects that Facts does not
	// report as [Done]: a second controller, which passes the zero Facts, must
	// not set it. Zero or less means never: an idle object causes no writes.
	Heartbeat time.Duration
	// Retries is how often Commit merges and tries again after a conflict, with
	// two requests each time. It pauses from the second time on. Zero means 4.
	// Negative means never: Commit returns the conflict, and the caller
	// reconciles again.
	Retries int
	// Redact, if set, replaces the message of each condition that changes,
	// before it is compared and sent. Text of package events/redact fits. Nil
	// means that messages are sent unchanged. Redact must be safe for
	// concurrent use and leave its own output unchanged: after a conflict
	// Commit calls it again. Commit does not catch a panic.
	Redact func(message string) string
	// AcceptRestored accepts a status whose observedGeneration is greater than
	// the generation of the object that it was read with, as after a restore
	// from a backup. observedGeneration then starts over. By default Commit
	// returns [ErrSuperseded]. If the CRD has the rules, the API server refuses
	// the write: delete the object and restore it without its status. Leave
	// ObservedGeneration of conditions at zero: Commit fills it in, while
	// [SetCondition] keeps a restored condition of a greater generation.
	AcceptRestored bool
	// OnCommit, if set, is called after each Commit with the result and the
	// duration. The result is unchanged, written, merged or gone. With an error
	// it is superseded (also for ErrStaleRead), replaced, field_conflict,
	// conflict or error, also if
	// the write succeeded and lost a field. The goroutine that commits calls
	// it. It must not block, and must be safe for concurrent use.
	OnCommit func(result string, took time.Duration)

	client *client
	now    time.Time // zero for the real one
}

// ForClient returns a Writer for controller-runtime's client. It serves every
// kind that the client knows:
//
//	status.ForClient(c.Patch, c.Status().Patch, client.RawPatch)
//
// Go infers the type parameters. The Writer calls patch only after a 404, to
// find out whether the object is gone or its kind has no status subresource.
// Set the field owner with client.WithFieldOwner. If an argument is nil, Commit
// returns an error.
//
// It fits the clients of controller-runtime v0.22 to v0.25: a manager's, a
// direct and a fake one. Register a fake client's kinds with
// WithStatusSubresource.
func ForClient[O, P, Q, S any](
	patch func(context.Context, O, P, ...Q) error,
	patchStatus func(context.Context, O, P, ...S) error,
	rawPatch func(types.PatchType, []byte) P,
) Writer {
	if patch == nil || patchStatus == nil || rawPatch == nil {
		return Writer{}
	}
	send := func(ctx context.Context, o Object, data []byte, manager string, subresources ...string) (Object, error) {
		if manager != "" {
			return nil, fmt.Errorf("status: commit: Writer.FieldManager is %q; want none with ForClient: use client.WithFieldOwner", manager)
		}
		blank, _ := reflect.TypeAssert[Object](reflect.New(reflect.TypeOf(o).Elem()))
		target, fits := any(blank).(O)
		if !fits {
			return nil, fmt.Errorf("status: commit: the client does not accept a %T; want the kind of object that its Patch takes", o)
		}
		if _, untyped := blank.(*unstructured.Unstructured); untyped {
			blank.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
		}
		blank.SetNamespace(o.GetNamespace())
		blank.SetName(o.GetName())
		if len(subresources) == 0 {
			return blank, patch(ctx, target, rawPatch(types.MergePatchType, data))
		}
		return blank, patchStatus(ctx, target, rawPatch(types.MergePatchType, data))
	}
	return Writer{client: newClient(send)}
}

// ForResource returns a Writer for a typed or a dynamic client of client-go, or
// its fake. resource returns the client of one namespace:
//
//	status.ForResource(clientset.ExampleV1().Runs)
//	status.ForResource(dynamicClient.Resource(runs).Namespace)
//
// Go infers the type parameters. If resource or its client is nil, Commit
// returns an error. A cluster-scoped kind of a typed client takes a function:
//
//	status.ForResource(func(string) examplev1.RunInterface { return clientset.ExampleV1().Runs() })
//
// The fakes of client-go, typed and dynamic, accept a patch with an outdated
// resourceVersion: a test with them cannot show a conflict.
func ForResource[C interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
}, T Object](resource func(namespace string) C) Writer {
	if resource == nil {
		return Writer{}
	}
	send := func(ctx context.Context, o Object, data []byte, manager string, subresources ...string) (Object, error) {
		if c := resource(o.GetNamespace()); !isnil.Is(c) {
			return c.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager}, subresources...)
		}
		return nil, fmt.Errorf("status: commit: the client of namespace %q is nil; want one that can patch the status", o.GetNamespace())
	}
	return Writer{client: newClient(send)}
}

// SetConditions makes group the conditions of all types that the Writer owns,
// and reports whether conds changed. It sets each one as [SetCondition] does,
// and removes owned types that are not in group. Recovery needs no list of the
// conditions that may have failed before:
//
//	w.SetConditions(&run.Status.Conditions, now, ready) // removes InvalidSpec, Unreachable and the like
//
// A condition that is absent counts as False, as kstatus defines for
// Reconciling and Stalled. To keep it as False, put it into group. If a
// condition in group has an ObservedGeneration, owned conditions of a newer
// generation than the newest in group stay. SetConditions also sets types in
// group that are not owned, and leaves other types that are not owned alone. If
// a type is twice in group, the last one counts. A nil conds does not change.
// Do not call it for one list from two goroutines.
func (w Writer) SetConditions(conds *[]metav1.Condition, now time.Time, group ...metav1.Condition) (changed bool) {
	if conds == nil {
		return false
	}
	var newest int64
	for i, c := range group {
		newest = max(newest, c.ObservedGeneration)
		if findCondition(group[i+1:], c.Type) == nil && SetCondition(conds, c, now) {
			changed = true
		}
	}
	kept := slices.DeleteFunc(*conds, func(c metav1.Condition) bool {
		return (newest == 0 || c.ObservedGeneration <= newest) && slices.Contains(w.Owned, c.Type) && findCondition(group, c.Type) == nil
	})
	changed = changed || len(kept) < len(*conds)
	*conds = kept
	return changed
}

// At returns a copy of w for unit tests: its Commit takes now as the time. By
// default Commit reads the clock.
func (w Writer) At(now time.Time) Writer {
	w.now = now
	return w
}

// Result says what Commit did. It is empty if Commit returns an error, unless
// the error is about the answer to a write that succeeded, or about a change
// outside of the status: the API server did not keep a field, the answer cannot
// be read, or after has other labels than before.
type Result string

// The results of a Commit.
const (
	// Unchanged: there was nothing to write.
	Unchanged Result = "unchanged"
	// Written: one request wrote everything.
	Written Result = "written"
	// Merged: another client had written, and the changes of both are stored.
	Merged Result = "merged"
	// Gone: the object no longer exists, and nothing was written.
	Gone Result = "gone"
)

// client sends merge patches. A Writer and its copies share it, with what it
// remembers.
type client struct {
	send   send
	writes *writes
	unkept *unkept
}

// send sends data to an object, and returns the object of the reply.
type send func(ctx context.Context, o Object, data []byte, manager string, subresources ...string) (Object, error)

func newClient(send send) *client {
	return &client{send: send, writes: newWrites(), unkept: newUnkept()}
}
