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
// and keeps the stored startedAt and finishedAt. If both sides changed a
// condition differently, see Writer.Owned. If before has no status and the
// stored one has no observedGeneration, no reconcile has reported: after
// replaces the defaults of the CRD, and the values of other writers in its
// fields. Commit never overwrites a newer status. It writes nothing and returns
//
//   - [ErrSuperseded] if the stored status is of a newer generation,
//   - [ErrStaleRead], which is also an ErrSuperseded, if before is older than
//     the last write of this Writer, at most 5 minutes ago,
//   - [ErrReplaced] if the object was deleted and recreated,
//   - [ErrFieldConflict] if both sides changed one field, or a condition that
//     is not owned, to different values,
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
// done it. Unless before has a newer version, the next Commit of the object
// reads it first, with an empty patch. If that write may still happen, and
// there is nothing to write, Commit writes updatedAt, so that the late write
// fails.
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
		return "", errors.New("status: commit: the Writer has no client: it is the zero Writer, or an argument of ForClient or ForResource was nil")
	}
	c := change{
		Facts: f, names: w.FieldNames, now: w.clock(), heartbeat: w.Heartbeat,
		redact: w.Redact, restored: w.AcceptRestored, unkept: w.client.unkept,
	}
	err := c.openPair(before, after)
	if err != nil {
		return "", err
	}
	outside := c.refuseOutside()
	result, err := w.write(ctx, before, &c)
	if outside == nil || result == Gone {
		return result, err
	}
	return result, errors.Join(err, outside)
}

// write brings the status of after to the API server.
func (w Writer) write(ctx context.Context, before Object, c *change) (Result, error) {
	key := w.client.writes.keyOf(before.GetUID(), w.Owned)
	result, err := w.refuseStale(ctx, c, key)
	if err != nil || result == Gone {
		return result, err
	}
	idle, err := c.begin()
	if err != nil {
		return "", err
	}
	if idle {
		return Unchanged, nil
	}
	retries := cmp.Or(w.Retries, 4)
	for conflicts := 1; ; conflicts++ {
		data, err := c.plan()
		if err != nil {
			return "", err
		}
		if data == nil {
			err := c.fill(c.before)
			if c.merged {
				w.remember(c, key, c.before.object)
			}
			return Unchanged, err
		}
		reply, err := w.send(ctx, before, data, "status")
		switch {
		case err == nil:
			result, err := c.written(reply)
			w.remember(c, key, reply)
			return result, err
		case apierrors.IsNotFound(err):
			return w.gone(ctx, before, err)
		case apierrors.IsConflict(err) && c.pending:
			return "", c.refusePending() // a merge would take the own write for another writer's
		case !apierrors.IsConflict(err) || conflicts > retries || ctx.Err() != nil:
			if isUnanswered(err) {
				w.client.writes.lost(key, versionOf(c.before.object), w.clock())
			}
			return "", fmt.Errorf("status: commit: patching %s: %w", nameOf(before), c.after.explainNulls(err))
		}
		ended := pause(ctx, conflicts)
		if ended != nil {
			return "", fmt.Errorf("status: commit: patching %s: %w: %w while waiting to try again", nameOf(before), err, ended)
		}
		// The API server answers an empty patch with the stored object.
		if reply, err = w.send(ctx, before, []byte("{}"), "status"); err != nil {
			return isGone(before, "reading "+nameOf(before)+" after a conflict", err)
		}
		err = c.rebase(reply, w.Owned)
		if errors.Is(err, ErrFieldConflict) && w.client.writes.isEmpty() {
			err = fmt.Errorf("%w; this Writer has written nothing yet: "+
				"make one Writer for all reconciles, so that it knows its own writes", err)
		}
		if err != nil {
			return "", err
		}
	}
}

// clock returns the time now.
func (w Writer) clock() time.Time { return cmp.Or(w.now, time.Now()) }

// refuseStale returns an error if before is older than the last write of this
// Writer. If that write got no answer, refuseStale reads the object first, and
// the result may be Gone.
func (w Writer) refuseStale(ctx context.Context, c *change, key writeKey) (Result, error) {
	before := c.before.object
	last := w.client.writes.get(key, w.clock())
	version := versionOf(before)
	if last.pending(version) {
		reply, err := w.send(ctx, before, []byte("{}"), "status")
		if apierrors.IsNotFound(err) {
			return w.gone(ctx, before, err)
		}
		if err != nil {
			return "", fmt.Errorf("status: commit: reading %s after a write without an answer: %w", nameOf(before), err)
		}
		if _, err := c.openLive("the object after a write without an answer", reply); err != nil {
			return "", err
		}
		last = w.client.writes.read(key, versionOf(reply), w.clock())
	}
	c.pending = last.pending(version)
	if version == 0 || version >= last.newest {
		return "", nil
	}
	if last.handed.version == version && last.handed == w.client.writes.handedOf(c.before) {
		return "", nil
	}
	return "", fmt.Errorf("%w: %s was read with resourceVersion %d, and the API server has returned %d; "+
		"reconcile again when the cache has caught up; the Writer forgets a write, and accepts any copy, %s after it",
		ErrStaleRead, nameOf(before), version, last.newest, rememberWrite)
}

// remember keeps the version of o, which the API server returned. If after has
// its status with an older version, after is a copy to go on from, too.
func (w Writer) remember(c *change, key writeKey, o Object) {
	if o == nil {
		return
	}
	var handed handedCopy
	if c.moved {
		handed = w.client.writes.handedOf(c.after)
	}
	w.client.writes.answered(key, versionOf(c.before.object), versionOf(o), handed, w.clock())
}

// written is the result of a write that the API server answered with reply.
func (c *change) written(reply Object) (Result, error) {
	if c.merged {
		return Merged, c.accept(reply)
	}
	return Written, c.accept(reply)
}

// openLive opens an object that was read after before, and is still the same.
func (c *change) openLive(role string, reply Object) (*document, error) {
	live, err := open(role, reply)
	if err != nil {
		return nil, err
	}
	before := c.before.object
	if reply.GetUID() != before.GetUID() {
		return nil, fmt.Errorf("%w: %s now has uid %q, and was read with %q",
			ErrReplaced, nameOf(before), reply.GetUID(), before.GetUID())
	}
	return live, nil
}

// rebase merges after with the live object, which takes the place of before.
// The generation is still the one that this reconcile acted on.
func (c *change) rebase(reply Object, owned []string) error {
	before := c.before
	live, err := c.openLive("the object after a conflict", reply)
	if err != nil {
		return err
	}
	c.before = live
	c.merged = true
	if err := c.observe(); err != nil {
		return err
	}
	if err := live.readTree(c.names.Conditions); err != nil {
		return err
	}
	c.isFirst = before.isEmpty() && c.isUnreported()
	c.after.tree, err = c.merge(before.tree, c.after.tree, live.tree, owned)
	return err
}

// isUnreported reports whether the live status is certainly not one of this
// controller, or of a replica: each of theirs has an observedGeneration.
func (c *change) isUnreported() bool {
	if c.names.ObservedGeneration == absent || c.generation == 0 {
		return false
	}
	return c.before.stamp.ObservedGeneration <= 0
}

// send returns the object of the reply; nil for none. The reply is of the type
// of o.
func (w Writer) send(ctx context.Context, o Object, data []byte, subresources ...string) (Object, error) { //nolint:ireturn // of any kind
	reply, err := w.client.send(ctx, o, data, w.FieldManager, subresources...)
	switch {
	case err != nil, isnil.Is(reply):
		return nil, err
	case reflect.TypeOf(reply) != reflect.TypeOf(o):
		return nil, fmt.Errorf("status: the client returned a %T; want a %T", reply, o)
	}
	return reply, nil
}

// accept makes after equal to the reply, and reports the fields that the API
// server did not keep. A reply without a version is not one of an API server:
// accept ignores it.
func (c *change) accept(reply Object) error {
	if reply == nil || reply.GetResourceVersion() == "" {
		return c.after.set(c.after.tree)
	}
	stored, err := open("the reply", reply)
	if err != nil {
		return err
	}
	if err := stored.readTree(c.names.Conditions); err != nil {
		return err
	}
	if err := c.fill(stored); err != nil {
		return err
	}
	compare(c.after.tree, stored.tree)
	return c.unkept.learn(c.after.object, c.before.tree, c.after.tree, stored.tree, c.now)
}

// fill makes after equal to stored. If the spec may have changed since the
// read, fill sets only the status: with the new version, an Update of after
// would revert the spec.
func (c *change) fill(stored *document) error {
	generation := stored.object.GetGeneration()
	c.moved = c.merged && (generation != c.generation || generation == 0)
	if stored == c.before && !c.merged || c.moved {
		return c.after.set(stored.tree)
	}
	c.after.setObject(stored)
	return nil
}

// gone finds out whether the object no longer exists, or its kind has no status
// subresource. The API server answers both with the same 404. If the object
// itself may not be patched, it counts as gone.
func (w Writer) gone(ctx context.Context, before Object, first error) (Result, error) {
	if _, err := isGone(before, "patching "+nameOf(before), first); err != nil {
		return "", err
	}
	live, err := w.send(ctx, before, []byte("{}"))
	asking := "asking whether " + nameOf(before) + " exists, after a 404"
	switch {
	case err == nil && (live == nil || live.GetUID() == "" || live.GetName() != before.GetName()):
		return "", fmt.Errorf("status: commit: %s: the client returned no object of that name with a uid", asking)
	case err == nil && live.GetUID() == before.GetUID():
		return "", fmt.Errorf("status: commit: %s exists, but its kind has no status subresource; enable it in the CRD: %w", nameOf(before), first)
	case err == nil, // the name is another object's
		apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return Gone, nil
	}
	return isGone(before, asking, err)
}

// isGone is Gone if err is the API server's word that the object does not
// exist. Only the client knows the resource.
func isGone(o Object, doing string, err error) (Result, error) {
	if gone, err := notfound.Is(err, schema.GroupResource{}, o.GetName()); !gone {
		return "", fmt.Errorf("status: commit: %s: %w", doing, err)
	}
	return Gone, nil
}
