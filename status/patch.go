// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"time"
)

// Patch stamps after's status by the contract and returns the merge patch for the status subresource that makes before
// into after, pinned to before's resourceVersion; nil when there is nothing to write, because at most updatedAt would
// change. It is pure: send the patch with any client, as types.MergePatchType.
//
// before is what was read when the reconcile began, such as the informer's copy; it is never changed. after is a DeepCopy
// of it, with a changed status. Generation and version come from before, so a spec that changes meanwhile is not claimed.
// What after holds in the contract's four fields does not count: they follow from before's and from f by the rules of
// [Stamp.Observe]. Conditions that changed are settled as [SetCondition] does, however they were changed, and their order
// does not count. Differences outside of status, such as labels, finalizers or the spec, are ignored: only status is
// written; send other changes with their own request, before.
//
// All changes are in one patch. A field that was cleared is null in it, also within objects, so that it is really
// cleared; lists are replaced whole, so fields that other programs add to a condition survive only in unstructured
// objects: a typed list does not hold them. The contract's times count in whole seconds.
//
// An error names the field and what is accepted, and leaves after as it was. [ErrSuperseded] says that before's status is
// of a newer generation than its spec.
func Patch(before, after Object, f Facts, now time.Time) ([]byte, error) {
	return Names{}.Patch(before, after, f, now)
}

// Patch is the function [Patch] for a kind that keeps the contract's fields where n says.
func (n Names) Patch(before, after Object, f Facts, now time.Time) ([]byte, error) {
	old, cur, err := open(before, after)
	if err != nil {
		return nil, err
	}
	return n.patch(old, cur, change{
		Facts:      f,
		now:        now,
		version:    before.GetResourceVersion(),
		generation: before.GetGeneration(),
	})
}

// change is what a patch is made of beside the two statuses.
type change struct {
	Facts
	now        time.Time
	version    string        // the resourceVersion that the patch is pinned to
	generation int64         // as read when the reconcile began
	heartbeat  time.Duration // 0 for none
}

// patch is the one way by which every status is written. It changes cur only if it returns no error.
func (n Names) patch(old, cur *document, c change) ([]byte, error) {
	if c.version == "" {
		return nil, errors.New("status: metadata.resourceVersion is empty; want an object that was read from the API server")
	}
	n, err := n.resolve(cur)
	if err != nil {
		return nil, err
	}
	was, err := n.read(old)
	if err != nil {
		return nil, err
	}
	is := was
	if _, err := is.Observe(c.Facts, c.generation, c.now); err != nil {
		return nil, err
	}
	n.mask(&is, was)
	changed := is != was || n.UpdatedAt != absent && c.beat(was)
	if !changed && cur.equal(old) {
		return nil, nil
	}

	is.UpdatedAt = new(wholeSecond(c.now))
	d := diff{names: n, old: old, cur: cur, was: was, is: is, changed: changed}
	if d.stored, d.list, d.settled, err = n.settleList(old, cur, c); err != nil {
		return nil, err
	}
	body, err := d.body(c.version)
	if err != nil {
		return nil, err
	}
	if !d.changed {
		body, d.is.UpdatedAt = nil, was.UpdatedAt
	}
	d.apply()
	return body, nil
}

// beat reports whether the heartbeat is due: the stored updatedAt is that far from now, in either direction, lest a clock
// that once was ahead silences it.
func (c change) beat(was Stamp) bool {
	if c.heartbeat <= 0 || c.Progress == Done {
		return false
	}
	return was.UpdatedAt.IsZero() || c.now.Truncate(time.Second).Sub(was.UpdatedAt.Time).Abs() >= c.heartbeat
}
