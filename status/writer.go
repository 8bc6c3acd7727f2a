// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Owned lists the condition types that only this controller writes. Commit
	// carries over other conditions that another client has changed, and
	// [Writer.SetConditions] sets or removes these. Empty means that for a
	// conflict all conditions are this controller's.
	Owned []string
	// FieldManager is the name to leave in managedFields. Empty means that the
	// API server derives one from the user agent. With [ForClient] it is an
	// error of a Commit that writes: wrap the client with
	// client.WithFieldOwner.
	FieldManager string
	// Heartbeat is how old updatedAt may become before a Commit with nothing
	// else to write refreshes it. An updatedAt that does not move then shows a
	// stuck controller. Commit refreshes only objects that Facts does not
	// report as [Done]: a second controller of the objects must not set it. It
	// waits up to five minutes after a write that lost a field. Zero or less
	// means never: an idle object causes no writes.
	Heartbeat time.Duration
	// Redact, if set, replaces the message of each condition that changes,
	// before it is compared and sent. Text of package events/redact fits. Nil
	// means that messages are sent unchanged. Redact must be safe for
	// concurrent use, and must leave its own output unchanged. Commit does not
	// catch a panic.
	Redact func(message string) string
	// OnCommit, if set, is called after each Commit with the result and the
	// duration. The result is unchanged, written or gone. With an error it is
	// superseded (also for ErrStaleRead), replaced, field_conflict, conflict or
	// error, also if the write succeeded and lost a field. The goroutine that
	// commits calls it. It must not block, and must be safe for concurrent use.
	OnCommit func(result string, took time.Duration)

	client *client
}

// runtimeClient is the part of controller-runtime's client that a Writer uses.
// O, P and the options are interfaces of that module, which this package does
// not import.
type runtimeClient[S statusPatcher[O, P, SO], O, P, CO, SO any] interface {
	Patch(ctx context.Context, obj O, patch P, opts ...CO) error
	Status() S
}

type statusPatcher[O, P, SO any] interface {
	Patch(ctx context.Context, obj O, patch P, opts ...SO) error
}

// mergePatchOf is a client.Patch, whose method Data takes an O.
type mergePatchOf[O any] []byte

// Type says that it is a JSON merge patch.
func (mergePatchOf[O]) Type() types.PatchType { return types.MergePatchType }

// Data is the patch.
func (p mergePatchOf[O]) Data(O) ([]byte, error) { return p, nil }

// ForClient returns a Writer that sends its patches with controller-runtime's
// client. It serves every kind that the client knows:
//
//	writer := status.ForClient(mgr.GetClient())
//
// Go infers the type parameters. The clients of controller-runtime v0.22 to
// v0.25 fit: a manager's, a direct and a fake one, and what
// client.WithFieldOwner returns. Register a fake client's kinds with
// WithStatusSubresource. If c is nil, Commit returns an error.
//
// A Writer uses c.Status().Patch. It uses c.Patch only after a 404, to find out
// whether the object is gone or its kind has no status subresource.
func ForClient[C runtimeClient[S, O, P, CO, SO], S statusPatcher[O, P, SO], O, P, CO, SO any](c C) Writer {
	if isnil.Is(c) {
		return Writer{}
	}
	send := func(ctx context.Context, r request) (Object, error) {
		if r.manager != "" {
			return nil, fmt.Errorf("status: commit: Writer.FieldManager is %q; "+
				"want none with ForClient: use client.WithFieldOwner", r.manager)
		}
		reply := blank(r.object)
		obj, isObject := reply.(O)
		if !isObject {
			return nil, fmt.Errorf("status: commit: the client of ForClient takes objects of type %s; "+
				"want controller-runtime's client.Object", reflect.TypeFor[O]())
		}
		patch, isPatch := any(mergePatchOf[O](r.data)).(P)
		if !isPatch {
			return nil, fmt.Errorf("status: commit: the client of ForClient takes patches of type %s; "+
				"want controller-runtime's client.Patch", reflect.TypeFor[P]())
		}
		if r.subresources == nil {
			return reply, c.Patch(ctx, obj, patch)
		}
		return reply, c.Status().Patch(ctx, obj, patch)
	}
	return Writer{client: &client{send: send, memory: newMemory()}}
}

// blank returns an object of the same type, kind and name.
func blank(o Object) Object { //nolint:ireturn // of any kind
	obj, _ := reflect.TypeAssert[Object](reflect.New(reflect.TypeOf(o).Elem()))
	obj.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	obj.SetNamespace(o.GetNamespace())
	obj.SetName(o.GetName())
	return obj
}

// patcher is a client of client-go for one namespace.
type patcher[T Object] interface {
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte,
		opts metav1.PatchOptions, subresources ...string,
	) (T, error)
}

// ForResource returns a Writer for a typed or a dynamic client of client-go, or
// its fake. resource returns the client of one namespace, which has a method
// Patch:
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
func ForResource[C patcher[T], T Object](resource func(namespace string) C) Writer {
	if resource == nil {
		return Writer{}
	}
	send := func(ctx context.Context, r request) (Object, error) {
		c := resource(r.object.GetNamespace())
		if isnil.Is(c) {
			return nil, fmt.Errorf("status: commit: the client of namespace %q is nil; "+
				"want one that can patch the status", r.object.GetNamespace())
		}
		options := metav1.PatchOptions{FieldManager: r.manager}
		return c.Patch(ctx, r.object.GetName(), types.MergePatchType, r.data, options, r.subresources...)
	}
	return Writer{client: &client{send: send, memory: newMemory()}}
}

// SetConditions makes group the conditions of all types that the Writer owns,
// and reports whether conds changed. It sets each one as [SetCondition] does,
// and removes owned types that are not in group. A generation that is left to
// Commit is not a change. Recovery needs no list of the conditions that may
// have failed before:
//
//	w.SetConditions(&run.Status.Conditions, now, ready) // removes InvalidSpec, Unreachable and the like
//
// A condition that is absent counts as False, as kstatus defines for
// Reconciling and Stalled. To keep it as False, put it into group. If a
// condition in group has an ObservedGeneration, owned conditions of a newer
// generation than the newest in group stay. Types in group that are not owned
// are set as well. A nil conds does not change. Do not call it for one list
// from two goroutines.
func (w Writer) SetConditions(
	conds *[]metav1.Condition, now time.Time, group ...metav1.Condition,
) (changed bool) {
	if conds == nil {
		return false
	}
	var newest int64
	isSet := map[string]bool{}
	for _, c := range group {
		newest = max(newest, c.ObservedGeneration)
		isSet[c.Type] = true
		stored := apimeta.FindStatusCondition(*conds, c.Type)
		if stored != nil && c.ObservedGeneration == 0 {
			stored.ObservedGeneration = 0 // Commit fills it in
		}
		if SetCondition(conds, c, now) {
			changed = true
		}
	}
	count := len(*conds)
	*conds = slices.DeleteFunc(*conds, func(stored metav1.Condition) bool {
		isNewer := newest != 0 && stored.ObservedGeneration > newest
		return slices.Contains(w.Owned, stored.Type) && !isSet[stored.Type] && !isNewer
	})
	return changed || len(*conds) < count
}

// IsStale reports whether obj is older than this Writer's last write of it,
// which Commit would refuse with [ErrStaleRead]. Ask before the work, so that
// no step is done twice, and reconcile again after a second:
//
//	if r.Writer.IsStale(run) {
//		return ctrl.Result{RequeueAfter: time.Second}, nil
//	}
//
// It knows the writes of this process in the last five minutes.
func (w Writer) IsStale(obj Object) bool {
	if w.client == nil || isnil.Is(obj) {
		return false
	}
	return w.client.memory.of(obj.GetUID(), time.Now()).isOlder(obj)
}

// Result says what Commit did: Unchanged, Written or Gone. It is empty if
// Commit could not write the status. An error together with a Result is about
// the rest: labels that differ, a field that the API server refused or did not
// keep, or a reply that cannot be read.
type Result string

// The results of a Commit.
const (
	// Unchanged: there was nothing to write.
	Unchanged Result = "unchanged"
	// Written: the status is stored.
	Written Result = "written"
	// Gone: the object no longer exists, and nothing was written.
	Gone Result = "gone"
)

// client sends merge patches. A Writer and its copies share it, with what it
// remembers.
type client struct {
	send   func(ctx context.Context, r request) (Object, error)
	memory *memory
}

// request is a merge patch of an object.
type request struct {
	object       Object
	data         []byte
	manager      string   // empty for none
	subresources []string // the status, or none for the object itself
}
