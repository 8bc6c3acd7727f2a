// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// Commit sends the patch that [Patch] computes from before, after and f. It
// sends one request, or none if there is nothing to write.
//
// If another client wrote since before was read, Commit merges and tries again,
// up to Retries times, with two requests each. From the second conflict on it
// pauses first: for 10 to 20 ms, then longer, and for at most 160 ms. It takes
// each field of the status and each condition from the side that changed it,
// and keeps the stored startedAt and finishedAt. If before has no status and
// the stored one has no observedGeneration, no reconcile has reported: after
// replaces the defaults of the CRD, and the values of other writers in its
// fields. Commit never overwrites a newer status. It writes nothing and returns
//
//   - [ErrSuperseded] if the stored status is of a newer generation,
//   - [ErrStaleRead], which is also an ErrSuperseded, if before is older than
//     the last write of this Writer, at most 5 minutes ago,
//   - [ErrReplaced] if the object was deleted and recreated,
//   - [ErrFieldConflict] if both sides changed one field or condition to
//     different values: the other side may be this controller's next instance,
//   - the API server's conflict after Retries.
//
// Test for the first four with errors.Is. Return these and any other error
// from Reconcile, so that the controller reconciles the object again. Commit
// wraps errors of the client. A spec that changed since the read is not an
// error: observedGeneration has the value that was read, and the watch triggers
// the next reconcile.
//
// Commit writes only the status. If finalizers, labels, annotations, owner
// references, the spec or another part of after differ from before, Commit
// writes the status and returns an error that names them, too. Send such a
// change with a separate request before. If that request has given after a new
// resourceVersion, Commit does not look at these parts.
//
// A merge patch cannot carry null. If the schema requires a field that is null
// in after, Commit returns an error that names the field and the remedy.
//
// If a write gets no answer, such as after a timeout, the API server may have
// done it, or may do it late. Until before has a newer version than that write
// was sent with, Commit writes updatedAt if there is nothing else to write, so
// that the late write fails. A conflict is then ErrStaleRead, also if the
// object was recreated: the earlier write may be done, so Commit merges
// nothing.
//
// After [Written] or [Merged], after equals the stored object: metadata, spec
// and status. After [Unchanged], at least its status does. If the spec changed
// since the read, only the status does: spec, metadata and resourceVersion stay
// as they were read, so that a later Update conflicts. After [Gone] or an error
// with an empty Result, Commit has not changed after. To commit again in the
// same reconcile, take a DeepCopy of after as the next before.
//
// An object that no longer exists is [Gone], which is not an error. Commit
// returns it only if the answer of the API server is about this object. A 404
// of a proxy, or of a version that is not served, is an error.
//
// If the API server stores another value than the one sent, because the CRD's
// schema prunes the field or has a default, or a conversion webhook drops it,
// Commit returns [Written] or [Merged] and an error that names the field. It
// reports this once for each object. A default of a field that was not sent is
// not an error, also in an element of a list. For 10 minutes a difference in
// such fields alone is not written again. Then the Writer forgets it: the next
// Commit sends the field again, and reports it again if it is still not kept.
// The Writer remembers at most 32768 differences, in about 7 MiB, and drops the
// oldest.
//
// If the API server refuses the patch because the object is too large, or
// because of fields of the status that Commit can leave out, the verdict is
// kept: Commit sends one more patch, with the conditions, startedAt,
// finishedAt, and if the work is [Done] observedGeneration. The condition
// [StatusTruncated] names the fields. Commit returns an error each time, and
// does not repeat that patch while it would change only updatedAt. The next
// Commit of the whole status removes the condition.
//
// If ctx ends, Commit returns the error of the client, or in a pause the
// conflict with the error of ctx. Commit is safe for concurrent use if each
// call has its own after.
func (w Writer) Commit(ctx context.Context, before, after Object, f Facts) (Result, error) {
	start := time.Now()
	result, err := w.commit(ctx, before, after, f)
	if w.OnCommit != nil {
		w.OnCommit(label(result, err), time.Since(start))
	}
	return result, err
}

func (w Writer) commit(ctx context.Context, before, after Object, f Facts) (Result, error) {
	if w.client == nil {
		return "", errors.New("status: commit: the Writer has no client: " +
			"it is the zero Writer, or the argument of ForClient or ForResource was nil")
	}
	c := change{
		Facts: f, names: w.FieldNames,
		now: w.clock(), heartbeat: w.Heartbeat, unkept: w.client.unkept,
	}
	err := c.open(before, after)
	if err != nil {
		return "", err
	}
	outside := c.refuseOutside()
	result, err := w.write(ctx, &c)
	if outside == nil || result == Gone {
		return result, err
	}
	return result, errors.Join(err, outside)
}

// write brings the status of after to the API server.
func (w Writer) write(ctx context.Context, c *change) (Result, error) {
	err := w.refuseStale(c)
	if err != nil {
		return "", err
	}
	isIdle, err := c.begin()
	if err != nil {
		return "", err
	}
	if isIdle {
		return Unchanged, nil
	}
	if w.Redact != nil {
		c.redact(w.Redact)
	}
	return w.patch(ctx, c)
}

// patch sends patches until the API server accepts or refuses one.
func (w Writer) patch(ctx context.Context, c *change) (Result, error) {
	for conflicts := 1; ; conflicts++ {
		data, err := c.plan()
		if err != nil {
			return "", err
		}
		if data == nil {
			return Unchanged, w.keep(c)
		}
		reply, err := w.send(ctx, request{object: c.base.object, subresource: "status", data: data})
		if err == nil {
			return w.adopt(c, reply)
		}
		if !w.isWorthRetrying(ctx, c, err, conflicts) {
			return w.refused(ctx, c, err)
		}
		result, err := w.rebase(ctx, c, err, conflicts)
		if err != nil || result == Gone {
			return result, err
		}
	}
}

// isWorthRetrying reports whether to merge after an error of a patch. With a
// pending write, a merge would take the own write for another writer's.
func (w Writer) isWorthRetrying(ctx context.Context, c *change, err error, conflicts int) bool {
	if !apierrors.IsConflict(err) || c.isPending {
		return false
	}
	return conflicts <= cmp.Or(w.Retries, 4) && ctx.Err() == nil
}

// refused is the result of a patch that failed for good.
func (w Writer) refused(ctx context.Context, c *change, err error) (Result, error) {
	refusal, isAboutField := c.refusalOf(err)
	switch {
	case apierrors.IsNotFound(err):
		return w.gone(ctx, c.base.object, err)
	case isAboutField:
		return w.truncated(ctx, c, refusal, err)
	case apierrors.IsConflict(err) && c.isPending:
		return "", c.refusePending()
	case isUnanswered(err):
		w.client.writes.lost(w.keyOf(c), versionOf(c.base.object), w.clock())
	}
	err = c.after.explainNulls(err)
	return "", fmt.Errorf("status: commit: patching %s: %w", nameOf(c.base.object), err)
}

// rebase reads the stored object after a conflict, and merges.
func (w Writer) rebase(ctx context.Context, c *change, conflict error, conflicts int) (Result, error) {
	name := nameOf(c.base.object)
	err := pause(ctx, conflicts)
	if err != nil {
		return "", fmt.Errorf("status: commit: patching %s: %w: %w while waiting to try again",
			name, conflict, err)
	}
	live, err := w.fetch(ctx, c.base.object)
	if err != nil {
		return isGone(c.base.object, "reading "+name+" after a conflict", err)
	}
	err = c.rebase(live)
	if errors.Is(err, ErrFieldConflict) && w.client.writes.isEmpty() {
		err = fmt.Errorf("%w; this Writer has written nothing yet: "+
			"make one Writer for all reconciles, so that it knows its own writes", err)
	}
	return "", err
}

// adopt is the result of a patch that the API server answered with reply.
func (w Writer) adopt(c *change, reply Object) (Result, error) {
	err := c.adopt(reply)
	w.remember(c, reply)
	if c.isMerged {
		return Merged, err
	}
	return Written, err
}

// keep ends a Commit that has nothing to write.
func (w Writer) keep(c *change) error {
	err := c.take(c.base)
	if c.isMerged {
		w.remember(c, c.base.object)
	}
	return err
}

// clock returns the time now.
func (w Writer) clock() time.Time { return cmp.Or(w.now, time.Now()) }

// keyOf identifies the object and this writer of it.
func (w Writer) keyOf(c *change) writeKey {
	return w.client.writes.keyOf(c.base.object.GetUID(), w.Owned)
}

// refuseStale returns an error if before is older than the last write of this
// Writer.
func (w Writer) refuseStale(c *change) error {
	before := c.base.object
	version := versionOf(before)
	last := w.client.writes.get(w.keyOf(c), w.clock())
	c.isPending = last.pending(version)
	if version == 0 || version >= last.newest {
		return nil
	}
	isHanded := last.handed.version == version && last.handed == w.client.writes.handedOf(c.base.document)
	if isHanded {
		return nil
	}
	return fmt.Errorf("%w: %s was read with resourceVersion %d, and the API server has returned %d; "+
		"reconcile again when the cache has caught up; "+
		"the Writer forgets a write, and accepts any copy, %s after it",
		ErrStaleRead, nameOf(before), version, last.newest, rememberWrite)
}

// remember keeps the version of o, which the API server returned. If after has
// its status with an older version, after is a copy to go on from, too.
func (w Writer) remember(c *change, o Object) {
	if o == nil {
		return
	}
	var handed handedCopy
	if c.hasNewSpec(o) {
		handed = w.client.writes.handedOf(c.after.document)
	}
	w.client.writes.answered(w.keyOf(c), versionOf(c.base.object), versionOf(o), handed, w.clock())
}

// fetch returns the stored object. The API server answers an empty patch with
// it, for which the role of a patch is enough.
func (w Writer) fetch(ctx context.Context, o Object) (Object, error) { //nolint:ireturn // of any kind
	return w.send(ctx, request{object: o, subresource: "status", data: []byte("{}")})
}

// send returns the object of the reply; nil for none. The reply is of the type
// of the object.
func (w Writer) send(ctx context.Context, r request) (Object, error) { //nolint:ireturn // of any kind
	r.manager = w.FieldManager
	reply, err := w.client.send(ctx, r)
	if err != nil || isnil.Is(reply) {
		return nil, err
	}
	if reflect.TypeOf(reply) != reflect.TypeOf(r.object) {
		return nil, fmt.Errorf("status: the client returned a %T; want a %T", reply, r.object)
	}
	return reply, nil
}

// gone finds out whether the object no longer exists, or its kind has no status
// subresource. The API server answers both with the same 404. If the object
// itself may not be patched, it counts as gone.
func (w Writer) gone(ctx context.Context, before Object, first error) (Result, error) {
	name := nameOf(before)
	_, err := isGone(before, "patching "+name, first)
	if err != nil {
		return "", err
	}
	live, err := w.send(ctx, request{object: before, data: []byte("{}")})
	asking := "asking whether " + name + " exists, after a 404"
	isFromProxy := apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	if apierrors.IsForbidden(err) && !isFromProxy {
		return Gone, nil
	}
	if err != nil {
		return isGone(before, asking, err)
	}
	switch {
	case live == nil, live.GetUID() == "", live.GetName() != before.GetName():
		return "", fmt.Errorf("status: commit: %s: the client returned no object of that name with a uid",
			asking)
	case live.GetUID() == before.GetUID():
		return "", fmt.Errorf("status: commit: %s exists, but its kind has no status subresource; "+
			"enable it in the CRD: %w", name, first)
	}
	return Gone, nil // the name is another object's
}

// isGone is Gone if err is the API server's word that the object does not
// exist. Only the client knows the resource.
func isGone(o Object, doing string, err error) (Result, error) {
	gone, err := notfound.Is(err, schema.GroupResource{}, o.GetName())
	if !gone {
		return "", fmt.Errorf("status: commit: %s: %w", doing, err)
	}
	return Gone, nil
}
