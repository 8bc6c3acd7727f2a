// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	notfound "github.com/proompteng/controllerkit/internal/absent"
)

// ErrReplaced says that the object was deleted and another one created under its name. Nothing was written on that one.
var ErrReplaced error = overtakenError("status: the object is another one of the same name")

// defaultRetries is how many conflicts in a row a Commit gets over.
const defaultRetries = 4

// Commit is [Patch], sent: see there for before, after and f. It sends one request, or none if there is nothing to write.
// Only status is written: labels, finalizers and a spec that differ between before and after are ignored. Send other changes
// with their own request, before, and commit on what it returned.
//
// If somebody else wrote since before was read, Commit merges and tries again, up to Retries times: conditions by
// [MergeConditions], fields of the status that only one side changed, and the stored startedAt and finishedAt stay. It
// never makes an old verdict a newer one, but returns, having written nothing,
//
//   - [ErrSuperseded] if the stored status is of a newer generation,
//   - [ErrReplaced] if the object is another one of the same name,
//   - [ErrOverlap] if both sides changed the same field or a condition that is not owned,
//   - the API server's conflict if it is met once more than Retries.
//
// For each of these and for any other error of the API, which is wrapped, return the error, so that the key is tried again from what
// is stored then. A spec that changed meanwhile is no error: the result is [Merged], observedGeneration is the one that was
// read, and the watch brings the next reconcile.
//
// On success after has the resourceVersion and, if merged, the status that are stored; its spec and generation stay those
// that were read. To commit again in the same reconcile, take a DeepCopy of after as the next before. After an error,
// discard after. An object that no longer exists is [Gone], which is no error; only the API server's word about this object
// makes it so, and no other 404, such as that of a proxy or of a version that is not served. A field of the contract that the API
// server did not keep is one, beside the Result: the CRD's schema does not declare it.
//
// A ctx that is done ends the requests and the retries. Commit may be called by many goroutines, for different copies.
func (w Writer[T]) Commit(ctx context.Context, patch PatchFunc[T], before, after T, f Facts) (Result, error) {
	start := time.Now()
	result, err := w.commit(ctx, patch, before, after, f, start)
	if w.OnCommit != nil {
		w.OnCommit(label(result, err), time.Since(start))
	}
	return result, err
}

func (w Writer[T]) commit(ctx context.Context, patch PatchFunc[T], before, after T, f Facts, now time.Time) (Result, error) {
	if patch == nil {
		return "", errors.New("status: the PatchFunc is nil")
	}
	old, cur, err := open(before, after)
	if err != nil {
		return "", err
	}
	result := Written
	ch := change{
		Facts:      f,
		now:        now,
		version:    before.GetResourceVersion(),
		generation: before.GetGeneration(),
		heartbeat:  w.Heartbeat,
	}
	for retries := cmp.Or(w.Retries, defaultRetries); ; retries-- {
		data, err := w.Names.patch(old, cur, ch)
		if err != nil {
			return "", err
		}
		if data == nil {
			after.SetResourceVersion(ch.version)
			return Unchanged, nil
		}
		reply, err := w.send(ctx, patch, before, data, "status")
		switch {
		case err == nil:
			return result, w.accept(after, reply, cur)
		case apierrors.IsNotFound(err):
			return w.gone(ctx, patch, before, err)
		case !apierrors.IsConflict(err) || retries <= 0 || ctx.Err() != nil:
			return "", fmt.Errorf("status: patching %s: %w", before.GetName(), err)
		}
		// What follows is as if before had been read now: only the generation that this reconcile acted on stays.
		live, err := w.send(ctx, patch, before, nothing(), "status")
		if err != nil {
			return isGone(before, "reading "+before.GetName()+" after a conflict", err)
		}
		theirs, err := sameObject(before, live)
		if err != nil {
			return "", err
		}
		if err := w.Names.merge(old, cur, theirs, ch.generation, w.Owned); err != nil {
			return "", err
		}
		old, ch.version, result = theirs, live.GetResourceVersion(), Merged
	}
}

func (w Writer[T]) send(ctx context.Context, patch PatchFunc[T], o Object, data []byte, subresources ...string) (T, error) {
	return patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: w.FieldManager}, subresources...)
}

// nothing is the patch that changes nothing. The API server answers it with the stored object and does not write.
func nothing() []byte { return []byte("{}") }

// sameObject returns the status of live, if that is still the object that was read.
func sameObject(before, live Object) (*document, error) {
	if isNil(live) {
		return nil, fmt.Errorf("status: reading %s after a conflict: the client returned nil", before.GetName())
	}
	if live.GetUID() != before.GetUID() {
		return nil, fmt.Errorf("%w: %s now has uid %q, and was read with %q", ErrReplaced, before.GetName(), live.GetUID(), before.GetUID())
	}
	return read(live, "live")
}

// accept takes the new version over, and reports what the API server did not keep. A reply without a version is not one
// of an API server, and is not looked at.
func (w Writer[T]) accept(after, reply T, sent *document) error {
	if isNil(reply) || reply.GetResourceVersion() == "" {
		return nil
	}
	after.SetResourceVersion(reply.GetResourceVersion())
	kept, err := read(reply, "reply")
	if err != nil {
		return err
	}
	return w.Names.dropped(sent, kept)
}

// gone tells an object that no longer exists from a kind that has no status subresource: the API server answers 404 to both,
// for custom resources in the same words. If the object itself may not be patched, it counts as gone.
func (w Writer[T]) gone(ctx context.Context, patch PatchFunc[T], before T, first error) (Result, error) {
	if _, err := isGone(before, "patching "+before.GetName(), first); err != nil {
		return "", err
	}
	live, err := w.send(ctx, patch, before, nothing())
	asking := "asking whether " + before.GetName() + " exists, after a 404"
	switch {
	case err == nil && (isNil(live) || live.GetUID() == "" || live.GetName() != before.GetName()):
		return "", fmt.Errorf("status: %s: the client returned no object of that name with a uid", asking)
	case err == nil && live.GetUID() == before.GetUID():
		return "", fmt.Errorf("status: %s exists, but its kind has no status subresource; enable it in the CRD: %w", before.GetName(), first)
	case err == nil: // the name is another object's
		return Gone, nil
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return Gone, nil
	}
	return isGone(before, asking, err)
}

// isGone is Gone if err is the API server's word that the object does not exist, and else an error. Of which resource the object
// is only the client knows.
func isGone(o Object, doing string, err error) (Result, error) {
	gone, err := notfound.Is(err, schema.GroupResource{}, o.GetName())
	if !gone {
		return "", fmt.Errorf("status: %s: %w", doing, err)
	}
	return Gone, nil
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
