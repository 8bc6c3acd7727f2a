// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PatchFunc is the Patch method of a client for one kind, in one namespace. Those of client-go's typed and dynamic clients are
// one as they are: clients.Runs("ci").Patch. Of controller-runtime's client c this closure is one:
//
//	func(ctx context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*Run, error) {
//		run := &Run{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
//		return run, c.Status().Patch(ctx, run, client.RawPatch(pt, data))
//	}
//
// [Writer.Commit] calls it for the status subresource; after a conflict with the empty patch, which writes nothing and returns
// the object as it is stored; and after a 404 with the empty patch for the object itself, to tell an object that is gone from a
// kind without that subresource: a closure for the status alone, as above, calls both gone. It must return an object of its own
// each time, not one that it filled before.
type PatchFunc[T any] func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)

// Result is what Commit did. The set is closed, so that it can serve as a metric's label. Beside an error it is empty, unless a
// write succeeded that the API server did not keep whole.
type Result string

// The results of a Commit.
const (
	// Unchanged: there was nothing to write.
	Unchanged Result = "unchanged"
	// Written: one request wrote everything.
	Written Result = "written"
	// Merged: somebody else had written meanwhile, and what both wrote is now stored.
	Merged Result = "merged"
	// Gone: the object no longer exists, and nothing was written.
	Gone Result = "gone"
)

// Writer writes the status of one kind. The zero Writer is ready to use. It holds settings and no state, so it may be
// copied, and shared by goroutines.
type Writer[T Object] struct {
	// Names says what the kind calls the contract's fields. Zero means the names of [Stamp].
	Names Names
	// Owned lists the condition types that only this controller writes: its own count after a conflict, see
	// [MergeConditions], and [Writer.SetConditions] sets them all. Empty means none.
	Owned []string
	// FieldManager is the name to leave in managedFields. Empty means that the API server makes one of the user agent.
	FieldManager string
	// Heartbeat refreshes updatedAt of an object that is not [Done], once it is that old and there is nothing else to
	// write, so that a silent updatedAt means a stuck controller. It takes a reconcile to notice, and counts whole
	// seconds. Zero means never: an idle object causes no writes.
	Heartbeat time.Duration
	// Retries is how often a write that met a conflict is merged and tried again. Zero means 4, negative means never: the
	// conflict is returned, for the caller to reconcile again.
	Retries int
	// OnCommit is told of every Commit how long it took and its [Result]; of one that failed superseded, replaced, overlap,
	// conflict or error. It is called by the goroutine that commits. Nil means that nobody is told.
	OnCommit func(result string, took time.Duration)

	_ struct{}
}

// SetConditions makes group the conditions of all types that the Writer owns, at once, and reports whether that changed
// anything. Each is set as [SetCondition] does, and an owned type that is not in group is removed. So recovery needs no
// list of what may have failed before:
//
//	w.SetConditions(&run.Status.Conditions, now, ready) // InvalidSpec, Unreachable and the like are gone
//
// A removed condition says that it is not so, as kstatus has it for Reconciling and Stalled; to keep it as False, put it
// into group. A condition of a newer generation than the newest that group states stays, and so do those of types that are not
// owned. Of a type that is twice in group the last one counts. A nil conds is left alone.
func (w Writer[T]) SetConditions(conds *[]metav1.Condition, now time.Time, group ...metav1.Condition) (changed bool) {
	if conds == nil {
		return false
	}
	var newest int64
	for i, c := range group {
		newest = max(newest, c.ObservedGeneration)
		if find(group[i+1:], c.Type) == nil && SetCondition(conds, c, now) {
			changed = true
		}
	}
	kept := slices.DeleteFunc(*conds, func(c metav1.Condition) bool {
		outdated := newest == 0 || c.ObservedGeneration <= newest
		return outdated && slices.Contains(w.Owned, c.Type) && find(group, c.Type) == nil
	})
	changed = changed || len(kept) < len(*conds)
	*conds = kept
	return changed
}
