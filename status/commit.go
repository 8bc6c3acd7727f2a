// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// maxAttempts is how often a Commit sends its patch: it tries again after a
// conflict about something else.
const maxAttempts = 5

// Commit sends the patch that [FieldNames.Patch] computes: one request, or none
// if there is nothing to write. facts is at most one; none is the zero [Facts].
//
//	before := run.DeepCopy()
//	run.Status.Phase = "Running"
//	result, err := writer.Commit(ctx, before, run, status.Facts{Progress: status.Running})
//
// If another client changed metadata, the spec or conditions of other
// controllers since the read, Commit sends its changes again, up to four times.
// If the rest of the status changed, or another object has the name, it writes
// nothing and returns [ErrFieldConflict], [ErrSuperseded] or [ErrReplaced]. It
// returns [ErrStaleRead] for an old copy. Return each error from Reconcile, so
// that the controller reconciles again.
//
// Commit writes only the status. If labels, annotations or finalizers of after
// differ from before, it writes the status and returns an error. Send them
// first, with a separate request that gives after a new resourceVersion.
//
// After [Written], after is the stored object. If the spec changed since the
// read, only its status is: the old version then makes an Update conflict.
// After [Unchanged], at least the status is the stored one. To commit again in
// the same reconcile, take a new DeepCopy of after as before.
//
// If the API server does not store a field as sent, Commit returns Written and
// an error that names the field, once in five minutes for an object. In that
// time it does not send this difference alone again.
//
// If the API server refuses the status, because it is too large or a field is
// invalid, Commit sends one more patch: the conditions, observedGeneration,
// updatedAt, and a startedAt that was never stored. Each time it returns an
// error with the Reason StatusRefused, for which apierrors.IsInvalid holds if
// it does for the refusal.
//
// An object that no longer exists is [Gone], which is not an error. Commit is
// safe for concurrent use if each call has its own after.
func (w Writer) Commit(ctx context.Context, before, after Object, facts ...Facts) (Result, error) {
	start := time.Now()
	result, err := w.commit(ctx, before, after, facts)
	if w.OnCommit != nil {
		w.OnCommit(label(result, err), time.Since(start))
	}
	return result, err
}

func (w Writer) commit(ctx context.Context, before, after Object, facts []Facts) (Result, error) {
	if w.client == nil {
		return "", errors.New("status: commit: the Writer has no client: " +
			"it is the zero Writer, or the argument of ForClient or ForResource was nil")
	}
	var f Facts
	switch len(facts) {
	case 0:
	case 1:
		f = facts[0]
	default:
		return "", fmt.Errorf("status: commit: %d Facts are given; want at most one", len(facts))
	}
	err := refusePair(before, after)
	if err != nil {
		return "", err
	}
	outside := refuseOutside(before, after)
	result, err := w.write(ctx, before, after, f)
	return result, errors.Join(err, outside)
}

// write brings the status of after to the API server.
func (w Writer) write(ctx context.Context, before, after Object, f Facts) (Result, error) {
	now := time.Now()
	last := w.client.memory.of(before.GetUID(), now)
	if last.isOlder(before) {
		return "", fmt.Errorf("%w: %s was read with resourceVersion %s, and the API server has returned %d; "+
			"reconcile again when the cache has caught up; the Writer forgets a write after %s",
			ErrStaleRead, nameOf(before), before.GetResourceVersion(), last.version, rememberWrite)
	}
	c, err := w.plan(before, after, f, now)
	if err != nil {
		return "", err
	}
	for attempt := 1; ; attempt++ {
		patch := c.patch(last.lost)
		if patch == nil && !last.isUnanswered {
			return Unchanged, c.adopt(after, c.base, c.stored)
		}
		reply, err := w.send(ctx, c.base, patch) // nil asks whether the copy is the stored object
		switch {
		case err == nil:
			return w.written(c, after, reply, patch != nil)
		case isRefused(err):
			return w.reduce(ctx, c, after, err)
		case !apierrors.IsConflict(err), attempt == maxAttempts, ctx.Err() != nil:
			return w.failed(ctx, c, "patching "+nameOf(c.base), err)
		}
		result, err := w.rebase(ctx, c)
		if err != nil || result == Gone {
			return result, err
		}
	}
}

// failed is the result of a patch that failed with err. It remembers a patch
// that the API server may still do.
func (w Writer) failed(ctx context.Context, c *change, doing string, err error) (Result, error) {
	if apierrors.IsNotFound(err) {
		return w.gone(ctx, c.base, err)
	}
	if isUnanswered(err) {
		last := w.client.memory.of(c.base.GetUID(), c.now)
		last.isUnanswered = true
		w.client.memory.set(c.base.GetUID(), last, c.now)
	}
	return "", fmt.Errorf("status: commit: %s: %w", doing, err)
}

// rebase reads the stored object, and lets c go on from it. The API server
// answers an empty patch with the object, which needs no other right.
func (w Writer) rebase(ctx context.Context, c *change) (Result, error) {
	live, err := w.request(ctx, c.base, []byte("{}"), "status")
	if err != nil {
		return isGone(c.base, "reading "+nameOf(c.base)+" after a conflict", err)
	}
	return "", c.rebase(live, w.Owned)
}

// written makes after the stored object, and remembers the write. It returns an
// error that names the fields that the API server did not keep.
func (w Writer) written(c *change, after, reply Object, isWrite bool) (Result, error) {
	result := Unchanged
	if isWrite {
		result = Written
	}
	if reply.GetResourceVersion() == "" { // not the reply of an API server
		return result, setStatus(after, c.want)
	}
	stored, err := statusOf(reply)
	if err != nil {
		return result, fmt.Errorf("status: commit: the reply: %w", err)
	}
	err = c.adopt(after, reply, stored)
	if err != nil {
		return result, err
	}
	lost, hash := c.lose(stored)
	last := w.client.memory.of(reply.GetUID(), c.now)
	next := lastWrite{version: max(last.version, versionOf(reply)), lost: hash}
	w.client.memory.set(reply.GetUID(), next, c.now)
	if len(lost) == 0 || next.lost == last.lost {
		return result, nil
	}
	return result, fmt.Errorf("status: the API server did not keep %s as sent; "+
		"declare it in the CRD's schema without a default, stop setting it, "+
		"or for a field of the contract set its name, or \"-\" for none, in FieldNames",
		strings.Join(lost, ", "))
}

// reduce writes the conditions without the fields that the API server refused.
// It makes at most one request.
func (w Writer) reduce(ctx context.Context, c *change, after Object, refusal error) (Result, error) {
	refused := refusedError{fmt.Errorf("status: commit: patching %s: %w", nameOf(c.base), refusal)}
	whole := c.want
	c.want = maps.Clone(c.stored)
	for _, name := range []string{c.names.Conditions, c.names.ObservedGeneration, c.names.StartedAt} {
		value, has := whole[name]
		if has {
			c.want[name] = value
		}
	}
	patch := c.patch(0)
	if patch == nil {
		return "", refused
	}
	reply, err := w.send(ctx, c.base, patch)
	if err != nil {
		result, err := w.failed(ctx, c, "patching the conditions of "+nameOf(c.base), err)
		if result == Gone {
			return Gone, nil
		}
		return "", errors.Join(refused, err)
	}
	result, err := w.written(c, after, reply, true)
	return result, errors.Join(refused, err)
}

// send sends a patch of the status of o; nil for none. The API server refuses
// it if the stored object has another version than o.
func (w Writer) send( //nolint:ireturn // of any kind
	ctx context.Context, o Object, patch map[string]any,
) (Object, error) {
	data, err := pinned(o, patch)
	if err != nil {
		return nil, err
	}
	return w.request(ctx, o, data, "status")
}

// request sends a merge patch to o or its subresource, and returns the stored
// object.
func (w Writer) request( //nolint:ireturn // of any kind
	ctx context.Context, o Object, data []byte, subresources ...string,
) (Object, error) {
	r := request{object: o, data: data, manager: w.FieldManager, subresources: subresources}
	reply, err := w.client.send(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case isnil.Is(reply):
		return blank(o), nil
	case reflect.TypeOf(reply) != reflect.TypeOf(o):
		return nil, fmt.Errorf("status: the client returned a %T; want a %T", reply, o)
	}
	return reply, nil
}

// refuseOutside returns an error if metadata of after differs from before. If
// after has another version, a separate request has sent it.
func refuseOutside(before, after Object) error {
	var names []string
	if !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) {
		names = append(names, "metadata.annotations")
	}
	if !slices.Equal(before.GetFinalizers(), after.GetFinalizers()) {
		names = append(names, "metadata.finalizers")
	}
	if !maps.Equal(before.GetLabels(), after.GetLabels()) {
		names = append(names, "metadata.labels")
	}
	if names == nil || before.GetResourceVersion() != after.GetResourceVersion() {
		return nil
	}
	return fmt.Errorf("status: commit: %s of %s differ from before, and Commit writes only the status; "+
		"send them with a separate request before", strings.Join(names, ", "), nameOf(before))
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
	live, err := w.request(ctx, before, []byte("{}"))
	isFromProxy := apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	if apierrors.IsForbidden(err) && !isFromProxy {
		return Gone, nil
	}
	asking := "asking whether " + name + " exists, after a 404"
	if err != nil {
		return isGone(before, asking, err)
	}
	switch {
	case live.GetUID() == "", live.GetName() != before.GetName():
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
