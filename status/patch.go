// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Patch applies the contract to after's status and returns the merge patch for
// the status subresource that makes before into after, pinned to before's
// resourceVersion. It returns nil if nothing but updatedAt would change. Patch
// sends nothing: pass the patch to any client, as types.MergePatchType.
//
// before is the object that the reconcile read, such as the informer's copy.
// Patch never changes it. after is a DeepCopy of before with a changed
// status. Generation and version come from before, so that the status never
// claims a spec that the reconcile did not see.
//
// Patch ignores the four contract fields of after and computes them itself,
// from before and f, by the rules of [Stamp.Observe]. Conditions that changed
// are settled as by [SetCondition], and their order does not count. Differences
// outside of the status, such as labels, finalizers or the spec, are not sent.
// Send them with a separate request before. [Writer.Commit] returns an error
// for them.
//
// The patch has all changes. It has null for a field that was cleared, and a
// whole list for a list that changed. It also has fields that are zero: a
// schema may require them, and a typed object does not show whether they are
// stored. Fields that other programs add to a condition survive only in
// unstructured objects. Two JSON forms of one value are not a change.
//
// Patch makes after's status the one that the API server stores after the
// patch. An error does not change after. [ErrSuperseded] says that before's
// status is of a newer generation than its spec. Patch is safe for concurrent
// use if each call has its own after.
func Patch(before, after Object, f Facts, now time.Time) ([]byte, error) {
	return FieldNames{}.Patch(before, after, f, now)
}

// Patch is the function [Patch] for a kind that keeps the contract's fields
// where n says. An error names a field that the kind does not have.
func (n FieldNames) Patch(before, after Object, f Facts, now time.Time) ([]byte, error) {
	c := change{Facts: f, names: n, now: now, unkept: newUnkept()}
	err := c.openPair(before, after)
	if err != nil {
		return nil, err
	}
	idle, err := c.begin()
	if idle || err != nil {
		return nil, err
	}
	data, err := c.plan()
	if err != nil {
		return nil, err
	}
	return data, c.after.set(c.after.tree)
}

// change is one write of a status, with its retries.
type change struct {
	Facts

	names      FieldNames // resolved by open
	now        time.Time
	generation int64         // as read when the reconcile began
	heartbeat  time.Duration // 0 for none
	redact     func(string) string
	restored   bool // accept a status of a later generation than the object has
	unkept     *unkept

	before  *document // after a conflict, the live object
	after   *document // plan changes its tree to the status to store
	merged  bool      // there was a conflict
	isFirst bool      // of the conflict: before had no status, and this controller made none
	moved   bool      // after keeps the version that was read, with a newer status

	pending bool // a write that got no answer may still happen
}

func (c *change) openPair(before, after Object) (err error) {
	c.before, c.after, err = openPair(before, after)
	return err
}

// begin reads the two statuses. It is idle if there is nothing to write.
func (c *change) begin() (idle bool, err error) {
	c.generation = c.before.object.GetGeneration()
	if c.names, err = c.names.resolve(c.after); err != nil {
		return false, err
	}
	if err := c.observe(); err != nil {
		return false, err
	}
	if c.after.stamp == c.before.stamp && !c.beats() && c.before.same(c.after) {
		return true, c.refusePending()
	}
	for _, d := range [...]*document{c.before, c.after} {
		if err := d.readTree(c.names.Conditions); err != nil {
			return false, err
		}
	}
	compare(c.before.tree, c.after.tree)
	return false, nil
}

// observe reads the stamp of before and applies the contract.
func (c *change) observe() (err error) {
	if c.before.stamp, err = c.names.read(c.before); err != nil {
		return err
	}
	before, after := &c.before.stamp, &c.after.stamp
	*after = *before
	if generation := c.before.object.GetGeneration(); before.ObservedGeneration > generation {
		if !c.restored {
			return fmt.Errorf("%w: %d is stored, and the object has generation %d, as after a restore from a backup: "+
				"see Writer.AcceptRestored", ErrSuperseded, before.ObservedGeneration, generation)
		}
		after.ObservedGeneration = 0
	}
	if _, err := after.Observe(c.Facts, c.generation, c.now); err != nil {
		return err
	}
	if c.names.ObservedGeneration == absent {
		after.ObservedGeneration = before.ObservedGeneration
	}
	if c.names.StartedAt == absent {
		after.StartedAt = before.StartedAt
	}
	if c.names.FinishedAt == absent {
		after.FinishedAt = before.FinishedAt
	}
	return nil
}

// beats reports whether to write updatedAt even if nothing else changed: a
// write that got no answer can no longer happen afterwards, or the heartbeat is
// due. The stored updatedAt may also be ahead of now, after a clock that was
// wrong.
func (c *change) beats() bool {
	if c.names.UpdatedAt == absent {
		return false
	}
	updated := c.before.stamp.UpdatedAt
	if c.pending {
		now := wholeSecond(c.now)
		return !sameSecond(updated, &now) // otherwise it would change nothing
	}
	if c.heartbeat <= 0 || c.Progress == Done {
		return false
	}
	return updated.IsZero() || c.now.Truncate(time.Second).Sub(updated.Time).Abs() >= c.heartbeat
}

// refusePending returns an error if a write that got no answer may still change
// the status, or has just done so.
func (c *change) refusePending() error {
	if !c.pending {
		return nil
	}
	return fmt.Errorf("%w: a write of %s got no answer, and the API server may do it late; "+
		"reconcile again, for at most %s after that write", ErrStaleRead, nameOf(c.before.object), rememberWrite)
}

// plan changes after's tree to the status to store. It returns the body of the
// request, or nil if there is nothing to write.
func (c *change) plan() ([]byte, error) {
	before, after := c.before.tree, c.after.tree
	if err := c.stamp(before, after); err != nil {
		return nil, err
	}
	if err := c.settleList(before, after); err != nil {
		return nil, err
	}
	name, now := c.names.UpdatedAt, wholeSecond(c.now).ToUnstructured()
	if c.beats() {
		after[name] = now
	}
	if !c.unkept.differ(c.after.object, diff(before, after, false), before, c.now) {
		c.after.tree = before
		return nil, c.refusePending()
	}
	if name != absent {
		after[name] = now
	}
	version := c.before.object.GetResourceVersion()
	if version == "" {
		return nil, errors.New("status: metadata.resourceVersion is empty; want an object that was read from the API server, or in a test one that has a version")
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "status": diff(before, after, true)})
}

// stamp sets the contract's fields in after. An unchanged field keeps its
// stored form, such as milliseconds.
func (c *change) stamp(before, after map[string]any) error {
	b, a := c.before.stamp, c.after.stamp
	for _, f := range [...]struct {
		name    string
		changed bool
		value   any
	}{
		{c.names.ObservedGeneration, b.ObservedGeneration != a.ObservedGeneration, a.ObservedGeneration},
		{c.names.UpdatedAt, false, nil},
		{c.names.StartedAt, b.StartedAt != a.StartedAt, a.StartedAt},
		{c.names.FinishedAt, b.FinishedAt != a.FinishedAt, a.FinishedAt},
	} {
		stored, ok := before[f.name]
		switch {
		case f.name == absent:
		case f.changed && !c.after.has(f.name):
			return noField(f.name)
		case f.changed:
			after[f.name] = encode(f.value)
		case ok:
			after[f.name] = stored
		default:
			delete(after, f.name)
		}
	}
	return nil
}
