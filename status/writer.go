// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ErrReplaced says that the object was deleted and another one of the same name created. Nothing was written on that one.
var ErrReplaced = errors.New("status: the object is another one of the same name")

// Client is the Patch method of a client of one kind, in one namespace: client-go's generated and dynamic clients have it.
// Commit calls it for the status subresource.
type Client[T any] interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
}

// Result is what Commit did. It is bounded, to serve as a metric's label.
type Result string

// The results of a Commit that did not fail.
const (
	// Unchanged: there was nothing to write.
	Unchanged Result = "unchanged"
	// Written: one request wrote it all.
	Written Result = "written"
	// Merged: somebody else had written meanwhile; both changes are now stored.
	Merged Result = "merged"
	// Gone: the object no longer exists; nothing was written.
	Gone Result = "gone"
)

// Writer writes the status of one kind. The zero Writer is ready to use; it holds settings only, so it may be copied,
// and shared by goroutines.
type Writer[T Object] struct {
	// Names says what the kind calls the contract's fields. Zero means the names of [Stamp].
	Names Names
	// Owned lists the condition types that only this controller writes: after a conflict its own count. Zero means none:
	// a condition that both sides changed differently is an [ErrOverlap].
	Owned []string
	// FieldManager is the name in managedFields. Empty means that the API server takes it from the user agent.
	FieldManager string
	// Heartbeat is how old updatedAt may get on an object that is not Done and does not change; then it is written anew. It
	// takes a reconcile to notice. Zero means never: an idle object causes no writes.
	Heartbeat time.Duration
	// Retries is how often a write that met a conflict is merged and tried again. Zero means 4; negative means never.
	Retries int
	// OnCommit is told of every Commit that came to the point of comparing: its [Result], or superseded, replaced, overlap, conflict or error if it
	// failed, and how long it took. It must be safe to call from the goroutines that call Commit. Nil means nobody is.
	OnCommit func(result string, took time.Duration)

	_ struct{}
}

// Commit is [Patch], sent: see there for before, after and f.
func (w Writer[T]) Commit(ctx context.Context, c Client[T], before, after T, f Facts) (Result, error) {
	start := time.Now()
	result, err := w.commit(ctx, c, before, after, f, start)
	if w.OnCommit != nil {
		w.OnCommit(label(result, err), time.Since(start))
	}
	return result, err
}

func (w Writer[T]) commit(ctx context.Context, c Client[T], before, after T, f Facts, now time.Time) (Result, error) {
	if c == nil {
		return "", errors.New("status: the client is nil")
	}
	old, cur, err := open(before, after)
	if err != nil {
		return "", err
	}
	ch := change{Facts: f, now: now, version: before.GetResourceVersion(), generation: before.GetGeneration(), heartbeat: w.Heartbeat}
	name, uid, result := before.GetName(), before.GetUID(), Written
	for retries := cmp.Or(w.Retries, 4); ; retries-- {
		body, err := w.Names.patch(old, cur, ch)
		if err != nil {
			return "", err
		}
		if body == nil {
			after.SetResourceVersion(ch.version)
			return Unchanged, nil
		}
		reply, err := c.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: w.FieldManager}, "status")
		switch {
		case err == nil:
			if !isNil(reply) && reply.GetResourceVersion() != "" {
				after.SetResourceVersion(reply.GetResourceVersion())
			}
			return result, nil
		case apierrors.IsNotFound(err):
			return w.gone(ctx, c, before, err)
		case !apierrors.IsConflict(err) || retries <= 0 || ctx.Err() != nil:
			return "", fmt.Errorf("status: writing %s: %w", name, err)
		}
		live, err := c.Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{FieldManager: w.FieldManager}, "status")
		switch {
		case apierrors.IsNotFound(err):
			return Gone, nil
		case err != nil:
			return "", fmt.Errorf("status: reading %s after a conflict: %w", name, err)
		case isNil(live):
			return "", fmt.Errorf("status: reading %s after a conflict: the client returned nil", name)
		case live.GetUID() != uid:
			return "", fmt.Errorf("%w: %s has uid %s, and was read with %s", ErrReplaced, name, live.GetUID(), uid)
		}
		theirs, err := read(live, "live")
		if err != nil {
			return "", err
		}
		if err := w.Names.merge(old, cur, theirs, w.Owned); err != nil {
			return "", err
		}
		old, ch.version, result = theirs, live.GetResourceVersion(), Merged
	}
}

// gone tells an object that no longer exists from a kind that has no status subresource: both are 404, and for a custom
// resource word for word the same. A patch of nothing, without the subresource, finds out.
func (w Writer[T]) gone(ctx context.Context, c Client[T], before T, err error) (Result, error) {
	live, probe := c.Patch(ctx, before.GetName(), types.MergePatchType, []byte("{}"), metav1.PatchOptions{FieldManager: w.FieldManager})
	if probe != nil || isNil(live) || live.GetUID() != before.GetUID() {
		return Gone, nil
	}
	return "", fmt.Errorf("status: %s exists, but its kind has no status subresource; enable it in the CRD: %w", before.GetName(), err)
}

// label is what OnCommit is told.
func label(result Result, err error) string {
	switch {
	case err == nil:
		return string(result)
	case errors.Is(err, ErrSuperseded):
		return "superseded"
	case errors.Is(err, ErrReplaced):
		return "replaced"
	case errors.Is(err, ErrOverlap):
		return "overlap"
	case apierrors.IsConflict(err):
		return "conflict"
	}
	return "error"
}

// SetConditions makes group the conditions of the types that the Writer owns, all at once, and reports whether anything
// changed. Each is set as by [SetCondition]; owned types that are not in group are removed, so that recovery needs no list
// of what may have failed before:
//
//	w.SetConditions(&run.Status.Conditions, now, ready) // and InvalidSpec, Unreachable, Stalled are gone
//
// Conditions of other types stay, in group or not. A removed condition means that it is not so, as kstatus has it for
// Reconciling and Stalled; to keep one as False, put it into group. One that was computed from a newer generation than all of
// group stays. Of a type that is twice in group the last counts. A nil conds is left alone.
func (w Writer[T]) SetConditions(conds *[]metav1.Condition, now time.Time, group ...metav1.Condition) (changed bool) {
	if conds == nil {
		return false
	}
	var newest int64
	last := func(typ string) int {
		for i := len(group) - 1; i >= 0; i-- {
			if group[i].Type == typ {
				return i
			}
		}
		return -1
	}
	for i, c := range group {
		newest = max(newest, c.ObservedGeneration)
		if last(c.Type) == i {
			changed = SetCondition(conds, c, now) || changed
		}
	}
	kept := (*conds)[:0]
	for _, c := range *conds {
		if slices.Contains(w.Owned, c.Type) && last(c.Type) < 0 && (newest == 0 || c.ObservedGeneration <= newest) {
			changed = true
			continue
		}
		kept = append(kept, c)
	}
	clear((*conds)[len(kept):])
	*conds = kept
	return changed
}
