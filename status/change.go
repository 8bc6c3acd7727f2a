// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// change is a status to store in place of another.
type change struct {
	names      FieldNames // resolved
	now        time.Time
	generation int64          // as read when the reconcile began
	base       Object         // before, and after a conflict the stored object
	stored     map[string]any // the status of base
	want       map[string]any // the status to store
	isBeat     bool           // updatedAt is written even if nothing else changes
	isCopy     bool           // after has the status of before
	isMerged   bool           // there was a conflict

	// added has the fields that were added to unstructured conditions. Their
	// schema may not have them.
	added []addedField
}

// addedField is a field of a condition to store.
type addedField struct {
	condition map[string]any
	field     string
}

// plan computes the status to store.
func (w Writer) plan(before, after Object, f Facts, now time.Time) (*change, error) {
	c := &change{now: now, generation: before.GetGeneration(), base: before}
	was, err := valueOf(before)
	if err != nil {
		return nil, err
	}
	is, err := valueOf(after)
	if err != nil {
		return nil, err
	}
	c.stored, err = encoded(was.Interface())
	if err != nil {
		return nil, err
	}
	c.want = maps.Clone(c.stored)
	c.isCopy = reflect.DeepEqual(was.Interface(), is.Interface())
	if !c.isCopy {
		c.want, err = encoded(is.Interface())
		if err != nil {
			return nil, err
		}
	}
	c.names, err = w.FieldNames.resolve(after, c.stored)
	if err != nil {
		return nil, err
	}
	err = c.setStamp(f, after, w.Heartbeat)
	if err != nil {
		return nil, err
	}
	return c, c.setConditions(w.Redact)
}

// setStamp makes the contract's fields of want those to store. An unchanged
// field keeps its stored form, such as milliseconds.
func (c *change) setStamp(f Facts, after Object, heartbeat time.Duration) error {
	stored, err := c.names.stampOf(c.stored)
	if err != nil {
		return err
	}
	if stored.ObservedGeneration > c.generation {
		return fmt.Errorf("%w: %d is stored, and the object has generation %d, "+
			"as after a restore from a backup: see ErrSuperseded",
			ErrSuperseded, stored.ObservedGeneration, c.generation)
	}
	next := stored
	_, err = next.Observe(f, c.generation, c.now)
	if err != nil {
		return err
	}
	c.keep(c.names.ObservedGeneration)
	c.keep(c.names.UpdatedAt)
	c.keep(c.names.StartedAt)
	c.keep(c.names.FinishedAt)
	if next.ObservedGeneration != stored.ObservedGeneration && c.names.ObservedGeneration != absent {
		c.want[c.names.ObservedGeneration] = next.ObservedGeneration
	}
	times := []struct {
		name    string
		was, is *metav1.Time
	}{
		{c.names.StartedAt, stored.StartedAt, next.StartedAt},
		{c.names.FinishedAt, stored.FinishedAt, next.FinishedAt},
	}
	for _, t := range times {
		if t.name == absent || sameSecond(t.was, t.is) {
			continue
		}
		if !accepts(after, map[string]any{t.name: nil}) {
			return noField(t.name)
		}
		c.want[t.name] = t.is.ToUnstructured()
	}
	second := c.now.Truncate(time.Second)
	isLate := stored.UpdatedAt.IsZero() || second.Sub(stored.UpdatedAt.Time).Abs() >= heartbeat
	c.isBeat = isLate && heartbeat > 0 && f.Progress != Done && c.names.UpdatedAt != absent
	return nil
}

// keep makes a field of want the stored one.
func (c *change) keep(name string) {
	value, has := c.stored[name]
	if has {
		c.want[name] = value
	} else {
		delete(c.want, name)
	}
}

// patch returns what to send, and sets updatedAt. It is nil if there is nothing
// to write, or only the difference that the API server does not keep.
func (c *change) patch(lost uint64) map[string]any {
	if !c.isBeat && len(c.different()) == 0 {
		return nil
	}
	if c.names.UpdatedAt != absent {
		now := metav1.NewTime(c.now)
		c.want[c.names.UpdatedAt] = now.ToUnstructured()
	}
	isKnown := lost != 0 && lost == c.hash(c.different())
	if isKnown {
		return nil
	}
	patch := mergePatch(c.stored, c.want)
	updated, has := c.want[c.names.UpdatedAt]
	if has {
		patch[c.names.UpdatedAt] = updated // also within the second of the last write
	}
	return patch
}

// different returns the names of the fields that want changes, without an
// updatedAt that is stored.
func (c *change) different() []string {
	var names []string
	for name, value := range c.want {
		isTime := name == c.names.UpdatedAt && c.stored[name] != nil
		if !isTime && !equal(c.stored[name], value) {
			names = append(names, name)
		}
	}
	for name := range c.stored {
		_, has := c.want[name]
		if !has && name != c.names.UpdatedAt {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// hash identifies the values of want and of the store in different fields; 0 is
// none. A value where none is stored counts by its name, because a schema
// prunes each value.
func (c *change) hash(names []string) uint64 {
	if len(names) == 0 {
		return 0
	}
	hash := fnv.New64a()
	for _, name := range names {
		value := c.want[name]
		stored := c.stored[name]
		if isZero(stored) {
			value = nil
		}
		raw, _ := json.Marshal([]any{name, value, stored}) // both were decoded from JSON
		_, _ = hash.Write(raw)
	}
	return hash.Sum64()
}

// rebase takes over what other clients changed: metadata, the spec, and
// conditions that this controller neither owns nor sets. Any other difference
// is a conflict, because the other client may be this controller's next
// instance. The generation that this reconcile acted on does not change.
func (c *change) rebase(live Object, owned []string) error {
	if live.GetUID() != c.base.GetUID() {
		return fmt.Errorf("%w: %s now has uid %q, and was read with %q",
			ErrReplaced, nameOf(live), live.GetUID(), c.base.GetUID())
	}
	stored, err := statusOf(live)
	if err != nil {
		return err
	}
	stamp, err := c.names.stampOf(stored)
	if err != nil {
		return err
	}
	if stamp.ObservedGeneration > c.generation {
		return fmt.Errorf("%w: %d is stored, and this reconcile acted on %d",
			ErrSuperseded, stamp.ObservedGeneration, c.generation)
	}
	other := change{names: c.names, stored: c.stored, want: stored}
	for _, name := range other.different() {
		if name != c.names.Conditions && name != c.names.UpdatedAt {
			return fmt.Errorf("%w: %s: status.%s", ErrFieldConflict, nameOf(live), name)
		}
	}
	err = c.mergeConditions(stored, owned)
	if err != nil {
		return err
	}
	c.base = live
	c.stored = stored
	c.isMerged = true
	return nil
}

// adopt makes after equal to the stored object. If the spec may have changed
// since the read, only its status: with the new version, an Update of after
// would revert the spec.
func (c *change) adopt(after, stored Object, fields map[string]any) error {
	isNewSpec := c.isMerged && (stored.GetGeneration() != c.generation || c.generation == 0)
	isRead := stored == c.base // and after is its copy
	switch {
	case isRead && c.isCopy:
		return nil
	case isRead, isNewSpec:
		return setStatus(after, fields)
	}
	reflect.ValueOf(after).Elem().Set(reflect.ValueOf(stored).Elem())
	return nil
}

// lose compares want with what the API server stores, which takes the place of
// stored. It returns the paths of the fields that are lost, and a hash of what
// not to send again. A default is not a loss, also in an element of a list.
func (c *change) lose(stored map[string]any) (lost []string, hash uint64) {
	before := c.stored
	c.stored = stored
	_, kept := c.names.listOf(stored)
	for _, a := range c.added {
		condition, _ := kept[typeOf(a.condition)].(map[string]any)
		if condition[a.field] == nil {
			delete(a.condition, a.field) // the caller did not ask for it
		}
	}
	var sent []string
	for _, name := range c.different() {
		_, wasStored := before[name]
		value, isSent := c.want[name]
		if isSent || wasStored {
			sent = append(sent, name)
		}
		isLost := wasStored && !isSent || isSent && !covers(stored[name], value)
		if isLost {
			lost = append(lost, "status."+name)
		}
	}
	return lost, c.hash(sent)
}

// pinned is a patch of the status, or of nothing if that is nil. The API server
// refuses it if the object has another version than o.
func pinned(o Object, status map[string]any) ([]byte, error) {
	version := o.GetResourceVersion()
	if version == "" {
		return nil, errors.New("status: metadata.resourceVersion is empty; " +
			"want an object that was read from the API server, or in a test one that has a version")
	}
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": version}}
	if status != nil {
		patch["status"] = status
	}
	return json.Marshal(patch)
}
