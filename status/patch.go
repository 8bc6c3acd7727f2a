// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import "time"

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
	err := c.open(before, after)
	if err != nil {
		return nil, err
	}
	isIdle, err := c.begin()
	if isIdle || err != nil {
		return nil, err
	}
	data, err := c.plan()
	if err != nil {
		return nil, err
	}
	return data, c.after.set(c.after.content.tree(c.names.Conditions))
}
