// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrOverlap says that another writer changed the same field or condition in another way. Nothing was written: reconcile
// again from what is stored now.
var ErrOverlap error = overtakenError("status: another writer changed the same in another way")

// MergeConditions applies what changed from base to ours onto theirs, and returns a new list. A condition is of theirs
// unless ours changed it. One that both sides changed, or removed, differently is ours if its type is owned, and else an
// [ErrOverlap] that names the type. A later transition alone is no difference, and an owned condition of an older
// generation than theirs loses; one that states none does not, as in [SetCondition]. No generation is ever restamped.
//
// The order is that of theirs, then of ours. An empty result is nil. The lists may be nil, and are not changed.
func MergeConditions(base, ours, theirs []metav1.Condition, owned ...string) ([]metav1.Condition, error) {
	mine := entries(ours)
	for i, o := range mine {
		for _, list := range [...][]metav1.Condition{base, theirs} {
			if c := find(list, o.Type); c != nil && sameVerdict(stated(o.Condition, *c), *c) {
				mine[i].Condition = stated(o.Condition, *c) // the same, said again
				break
			}
		}
	}
	merged, err := mergeEntries("conditions", entries(base), mine, entries(theirs), owned)
	if err != nil {
		return nil, err
	}
	return bare(merged), nil
}

func entries(conds []metav1.Condition) []entry {
	list := make([]entry, len(conds))
	for i, c := range conds {
		list[i].Condition = c
	}
	return list
}

func mergeEntries(path string, base, ours, theirs []entry, owned []string) ([]entry, error) {
	var merged []entry
	var errs []error
	get := func(list []entry, typ string) *entry {
		if i := indexOf(list, typ); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for i, t := range theirs {
		if indexOf(theirs, t.Type) != i { // no condition, or the second of its type
			merged = append(merged, t)
			continue
		}
		e, err := mergeEntry(get(base, t.Type), get(ours, t.Type), &t, slices.Contains(owned, t.Type))
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s %s", err, path, t.Type))
		} else if e != nil {
			merged = append(merged, *e)
		}
	}
	for i, o := range ours {
		if indexOf(ours, o.Type) != i || indexOf(theirs, o.Type) >= 0 {
			continue
		}
		e, err := mergeEntry(get(base, o.Type), &o, nil, slices.Contains(owned, o.Type))
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s %s", err, path, o.Type))
		} else if e != nil {
			merged = append(merged, *e)
		}
	}
	return merged, errors.Join(errs...)
}

// mergeEntry merges one type; nil stands for a list without it.
func mergeEntry(base, ours, theirs *entry, owned bool) (*entry, error) {
	switch {
	case alike(base, ours), alike(ours, theirs):
		return theirs, nil
	case alike(base, theirs):
		return ours, nil
	case !owned:
		return nil, ErrOverlap
	}
	if ours != nil && theirs != nil && ours.ObservedGeneration != 0 && ours.ObservedGeneration < theirs.ObservedGeneration {
		return theirs, nil
	}
	return ours, nil
}

// alike reports whether two entries say the same, whenever it began to be so.
func alike(a, b *entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameVerdict(a.Condition, b.Condition) && sameExtras(*a, *b)
}
