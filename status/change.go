// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// change is one write of a status. It decides and makes no request:
//
//	open → begin → plan → adopt, after an answer
//	                ↑ ↓
//	              rebase, after a conflict
//
// It is not safe for concurrent use.
type change struct {
	Facts

	names      FieldNames // resolved by begin
	now        time.Time
	heartbeat  time.Duration // 0 for none
	generation int64         // as read when the reconcile began
	unkept     *unkept
	values     values

	base  side // before, and after a conflict the stored object
	after side // plan makes its content the one to store

	hasList   bool // of conditions, maybe an empty one
	isMerged  bool // there was a conflict
	isPending bool // a write that got no answer may be done, or happen late
}

// side is one of the two versions of the object.
type side struct {
	*document

	stamp   Stamp
	content content
}

// open finds the status of both objects. It refuses two objects that are not
// versions of one.
func (c *change) open(before, after Object) error {
	c.values = values{}
	var err error
	c.base.document, err = open("before", before)
	if err != nil {
		return err
	}
	c.after.document, err = open("after", after)
	if err != nil {
		return err
	}
	c.generation = before.GetGeneration()
	return refusePair(c.base.document, c.after.document)
}

// begin reads the two statuses. It is idle if there is nothing to write.
func (c *change) begin() (idle bool, err error) {
	c.names, err = c.names.resolve(c.after.document)
	if err != nil {
		return false, err
	}
	err = c.observe()
	if err != nil {
		return false, err
	}
	isIdle := c.after.stamp == c.base.stamp && !c.isBeatDue() && c.base.isSame(c.after.document)
	if isIdle && !c.base.hasMark(c.names.Conditions) {
		return true, c.refusePending()
	}
	err = c.decode(&c.base)
	if err != nil {
		return false, err
	}
	err = c.decode(&c.after)
	if err != nil {
		return false, err
	}
	c.hasList = c.after.content.conditions.isSet
	c.removeMark()
	return false, nil
}

// decode decodes the status of a side.
func (c *change) decode(s *side) error {
	content, err := s.decode(c.names.Conditions, c.values)
	s.content = content
	return err
}

// observe reads the stamp of before and applies the contract.
func (c *change) observe() error {
	stored, err := c.names.stampOf(c.base.document)
	if err != nil {
		return err
	}
	generation := c.base.object.GetGeneration()
	if stored.ObservedGeneration > generation {
		return fmt.Errorf("%w: %d is stored, and the object has generation %d, "+
			"as after a restore from a backup: see ErrSuperseded",
			ErrSuperseded, stored.ObservedGeneration, generation)
	}
	next := stored
	_, err = next.Observe(c.Facts, c.generation, c.now)
	if err != nil {
		return err
	}
	if c.names.ObservedGeneration == absent {
		next.ObservedGeneration = stored.ObservedGeneration
	}
	if c.names.StartedAt == absent {
		next.StartedAt = stored.StartedAt
	}
	if c.names.FinishedAt == absent {
		next.FinishedAt = stored.FinishedAt
	}
	c.base.stamp = stored
	c.after.stamp = next
	return nil
}

// isBeatDue reports whether to write updatedAt even if nothing else changed: a
// write that got no answer can no longer happen afterwards, or the heartbeat is
// due. The stored updatedAt may also be ahead of now, after a clock that was
// wrong.
func (c *change) isBeatDue() bool {
	if c.names.UpdatedAt == absent {
		return false
	}
	updated := c.base.stamp.UpdatedAt
	if c.isPending {
		now := wholeSecond(c.now)
		return !sameSecond(updated, &now) // otherwise it would change nothing
	}
	if c.heartbeat <= 0 || c.Progress == Done {
		return false
	}
	if updated.IsZero() {
		return true
	}
	return c.now.Truncate(time.Second).Sub(updated.Time).Abs() >= c.heartbeat
}

// refusePending returns an error if a write that got no answer may have changed
// the status, or may still do so.
func (c *change) refusePending() error {
	if !c.isPending {
		return nil
	}
	return fmt.Errorf("%w: a write of %s got no answer: the API server may have done it, or may do it late; "+
		"reconcile again from a newer copy, for at most %s after that write",
		ErrStaleRead, nameOf(c.base.object), rememberWrite)
}

// plan makes after's content the one to store. It returns the body of the
// request, or nil if there is nothing to write.
func (c *change) plan() ([]byte, error) {
	after := &c.after.content
	err := c.setStamp()
	if err != nil {
		return nil, err
	}
	after.conditions, err = c.conditionsToStore()
	if err != nil {
		return nil, err
	}
	updatedAt := c.names.UpdatedAt
	now := wholeSecond(c.now).ToUnstructured()
	if c.isBeatDue() {
		after.fields[updatedAt] = now
	}
	stored := c.base.content.tree(c.names.Conditions)
	body := mergePatch(stored, after.tree(c.names.Conditions), true)
	if !c.unkept.differ(c.after.object, body, stored, c.now) {
		return nil, c.refusePending()
	}
	if updatedAt != absent {
		after.fields[updatedAt] = now
		body[updatedAt] = now
	}
	if c.hasList && !after.conditions.isSet {
		body[c.names.Conditions] = []any{} // the schema may require it
	}
	return c.pinned(body)
}

// pinned is a patch of the status that the API server refuses if the object has
// another version than before.
func (c *change) pinned(status map[string]any) ([]byte, error) {
	version := c.base.object.GetResourceVersion()
	if version == "" {
		return nil, errors.New("status: metadata.resourceVersion is empty; " +
			"want an object that was read from the API server, or in a test one that has a version")
	}
	metadata := map[string]any{"resourceVersion": version}
	return json.Marshal(map[string]any{"metadata": metadata, "status": status})
}

// setStamp sets the contract's fields in after. An unchanged field keeps its
// stored form, such as milliseconds.
func (c *change) setStamp() error {
	b := c.base.stamp
	a := c.after.stamp
	fields := []struct {
		name      string
		isChanged bool
		value     any
	}{
		{c.names.ObservedGeneration, b.ObservedGeneration != a.ObservedGeneration, a.ObservedGeneration},
		{c.names.UpdatedAt, false, nil},
		{c.names.StartedAt, b.StartedAt != a.StartedAt, a.StartedAt},
		{c.names.FinishedAt, b.FinishedAt != a.FinishedAt, a.FinishedAt},
	}
	for _, f := range fields {
		if f.name == absent {
			continue
		}
		value, has := c.base.content.fields[f.name]
		if f.isChanged {
			if !c.after.has(f.name) {
				return noField(f.name)
			}
			value = decode(encode(f.value))
			has = true
		}
		if has {
			c.after.content.fields[f.name] = value
		} else {
			delete(c.after.content.fields, f.name)
		}
	}
	return nil
}

// rebase merges after with the live object, which takes the place of before.
// The generation that this reconcile acted on does not change.
func (c *change) rebase(reply Object) error {
	live, err := open("the object after a conflict", reply)
	if err != nil {
		return err
	}
	before := c.base
	read := before.object.GetUID()
	if reply.GetUID() != read {
		return fmt.Errorf("%w: %s now has uid %q, and was read with %q",
			ErrReplaced, nameOf(reply), reply.GetUID(), read)
	}
	c.base = side{document: live}
	c.isMerged = true
	err = c.observe()
	if err != nil {
		return err
	}
	err = c.decode(&c.base)
	if err != nil {
		return err
	}
	m := merge{
		before: before.content, after: c.after.content, live: c.base.content,
		object: nameOf(reply), names: c.names,
		isFirst: before.isEmpty() && c.isUnreported(),
	}
	c.after.content, err = m.merged()
	return err
}

// isUnreported reports whether the live status is certainly not one of this
// controller, or of a replica: all their statuses have an observedGeneration.
func (c *change) isUnreported() bool {
	if c.names.ObservedGeneration == absent || c.generation == 0 {
		return false
	}
	return c.base.stamp.ObservedGeneration <= 0
}

// adopt makes after equal to the reply, and reports the fields that the API
// server did not keep. A reply without a version is not one of an API server:
// adopt ignores it.
func (c *change) adopt(reply Object) error {
	sent := c.after.content.tree(c.names.Conditions)
	if reply == nil || reply.GetResourceVersion() == "" {
		return c.after.set(sent)
	}
	document, err := open("the reply", reply)
	if err != nil {
		return err
	}
	stored := side{document: document}
	err = c.decode(&stored)
	if err != nil {
		return err
	}
	list := &stored.content.conditions
	if len(list.items) == 0 {
		list.isSet = c.after.content.conditions.isSet // a type may leave out an empty list
	}
	err = c.take(stored)
	if err != nil {
		return err
	}
	before := c.base.content.tree(c.names.Conditions)
	if c.after.content.conditions.isSet {
		sent[c.names.Conditions] = c.after.content.conditions.withoutPruned(*list).encoded()
	}
	return c.unkept.learn(c.after.object, before, sent, stored.content.tree(c.names.Conditions), c.now)
}

// take makes after equal to stored. If the spec may have changed since the
// read, take sets only the status: with the new version, an Update of after
// would revert the spec.
func (c *change) take(stored side) error {
	isBefore := stored.document == c.base.document && !c.isMerged
	if isBefore || c.hasNewSpec(stored.object) {
		return c.after.set(stored.content.tree(c.names.Conditions))
	}
	c.after.setObject(stored.document)
	return nil
}

// hasNewSpec reports whether the spec may have changed since the reconcile
// began. After keeps the version that was read then.
func (c *change) hasNewSpec(stored Object) bool {
	if !c.isMerged {
		return false
	}
	generation := stored.GetGeneration()
	return generation != c.generation || generation == 0
}
