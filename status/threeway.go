// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import "fmt"

// merge makes ours what it changed of base, applied onto theirs, for a reconcile of generation. The contract's fields are
// left to patch. A field of the status is one unit: half a jobRef of each side would be nobody's. It changes ours only if
// it returns no error.
func (n Names) merge(base, ours, theirs *document, generation int64, owned []string) error {
	n, err := n.resolve(ours)
	if err != nil {
		return err
	}
	stored, err := n.read(theirs)
	if err != nil {
		return err
	}
	if generation < stored.ObservedGeneration {
		return superseded(stored.ObservedGeneration, generation)
	}
	take, err := n.untouched(base, ours, theirs)
	if err != nil {
		return err
	}
	list, err := n.mergeLists(base, ours, theirs, owned)
	if err != nil {
		return err
	}
	for _, name := range take {
		ours.take(name, theirs)
	}
	if n.Conditions != absent {
		ours.setConditions(n.Conditions, list)
	}
	return nil
}

// untouched returns the fields that ours did not change, or an error for one that both sides changed differently.
func (n Names) untouched(base, ours, theirs *document) (take []string, err error) {
	for _, name := range namesOf([]*document{base, ours, theirs}) {
		if n.has(name) {
			continue
		}
		kept, err := equalJSON(base, ours, name)
		if err != nil {
			return nil, err
		}
		if kept {
			take = append(take, name)
			continue
		}
		disputed := false
		for _, d := range [...]*document{base, ours} {
			equal, err := equalJSON(d, theirs, name)
			if err != nil {
				return nil, err
			}
			if disputed = !equal; equal {
				break
			}
		}
		if disputed {
			return nil, fmt.Errorf("%w: status.%s", ErrOverlap, name)
		}
	}
	return take, nil
}

func (n Names) mergeLists(base, ours, theirs *document, owned []string) ([]entry, error) {
	if n.Conditions == absent {
		return nil, nil
	}
	var lists [3][]entry
	for i, d := range [...]*document{base, ours, theirs} {
		var err error
		if lists[i], err = d.conditions(n.Conditions); err != nil {
			return nil, err
		}
	}
	return mergeEntries("status."+n.Conditions, lists[0], lists[1], lists[2], owned)
}

// equalJSON compares one field as the API server would store it.
func equalJSON(a, b *document, name string) (bool, error) {
	if a.same(b, name) {
		return true, nil
	}
	x, err := a.json(name)
	if err != nil {
		return false, err
	}
	y, err := b.json(name)
	return string(x) == string(y), err
}
