// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var errWaits = errors.New("the request waits")

// outcome is what a Commit has come to: a request that waits, or its end.
type outcome struct {
	waits   bool
	request patched // that waits
	memory  memory
	isStale bool // it ended with ErrStaleRead
}

// patched is a patch of the status. It is pinned to a version; without one it
// is empty, and reads.
type patched struct {
	version uint8
	has     fields
	values  object // of the fields that it has
}

// fields is a set of fields of the status, a bit for each.
type fields uint8

const (
	hasObserved fields = 1 << iota
	hasUpdated
	hasStarted
	hasFinished
	hasPhase
	hasConditions
)

func patchOf(data []byte) patched {
	var raw struct {
		Metadata struct{ ResourceVersion string }
		Status   map[string]any
	}
	_ = json.Unmarshal(data, &raw)
	version, _ := strconv.Atoi(raw.Metadata.ResourceVersion)
	status, _ := canonical(raw.Status).(map[string]any)
	p := patched{version: uint8(version), values: object{}.with(status)}
	for i, name := range []string{
		"observedGeneration", "updatedAt", "startedAt", "finishedAt", "phase", "conditions",
	} {
		_, has := raw.Status[name]
		if has {
			p.has |= 1 << i
		}
	}
	return p
}

// of returns o with the fields of the patch.
func (p patched) of(o object) object {
	set := func(field fields, value *uint8, next uint8) {
		if p.has&field != 0 {
			*value = next
		}
	}
	set(hasObserved, &o.observed, p.values.observed)
	set(hasUpdated, &o.updated, p.values.updated)
	set(hasStarted, &o.started, p.values.started)
	set(hasFinished, &o.finished, p.values.finished)
	set(hasPhase, &o.phase, p.values.phase)
	if p.has&hasConditions != 0 {
		o.ready = p.values.ready
		o.other = p.values.other
	}
	return o
}

// commits remembers the outcomes of Commits, which depend on nothing but who
// commits, the call and the memory. Times and versions that are in the same
// order are the same.
type commits struct {
	known  map[committed]outcome
	unkept []string // sets of keys, the empty one first
}

type committed struct {
	who    int
	call   call
	memory memory
}

func (m *commits) run(who int, c controller) outcome {
	if c.memory.uid != c.call.before.uid {
		c.memory = memory{uid: c.call.before.uid}
	}
	key := committed{who, c.call, c.memory}
	times := ranks{}
	versions := ranks{}
	numbersOfCall(&key.call, times.add, versions.add)
	key.memory.numbers(times.add, versions.add)
	times.number()
	versions.number()
	numbersOfCall(&key.call, times.rename, versions.rename)
	key.memory.numbers(times.rename, versions.rename)
	out, isKnown := m.known[key]
	if !isKnown {
		out = m.replay(key)
		m.known[key] = out
	}
	out.memory.numbers(times.restore, versions.restore)
	versions.restore(&out.request.version)
	numbersOf(&out.request.values, times.restore, versions.restore)
	return out
}

// replay runs a Commit up to the request that has no answer yet, or to its end.
func (m *commits) replay(c committed) outcome {
	var out outcome
	var count uint8
	send := func(_ context.Context, r request) (Object, error) {
		if count == c.call.count {
			if !out.waits {
				out.waits = true
				out.request = patchOf(r.data)
			}
			return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "runs"}, "a", errWaits)
		}
		a := c.call.answers[count]
		count++
		switch a.kind {
		case noAnswer:
			return nil, errors.New("EOF")
		case done200:
			return a.object.untyped(), nil
		case conflict409:
			return nil, apierrors.NewConflict(schema.GroupResource{Resource: "runs"}, "a", errors.New("modified"))
		case missing404:
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "runs"}, "a")
		}
		return nil, errWaits
	}
	w := Writer{client: newClient(send), Retries: 1, Owned: []string{"Ready"}, now: clockOf(c.call.at)}
	if c.who == second {
		w.Owned = []string{"Other"}
		w.FieldNames.ObservedGeneration = absent
	}
	before := c.call.before.untyped()
	key := w.client.writes.keyOf(before.GetUID(), w.Owned)
	m.recall(w, key, c.memory)
	after := before.DeepCopy()
	facts := c.call.report(c.who, after)
	_, err := w.Commit(context.Background(), before, after, facts)
	out.memory = m.memorize(w, key, c.memory, c.call.before, after)
	out.isStale = errors.Is(err, ErrStaleRead)
	return out
}

// recall gives a Writer what it knows of an object.
func (m *commits) recall(w Writer, key writeKey, known memory) {
	last := lastWrite{newest: uint64(known.newest), unanswered: uint64(known.unanswered)}
	if known.handed.uid != 0 {
		last.handed = handedOf(w, known.handed)
	}
	if last != (lastWrite{}) {
		w.client.writes.last.put(key, last, w.now)
	}
	keys := m.unkept[known.unkept]
	for len(keys) > 0 {
		var key fieldKey
		keys = keys[copy(key[:], keys):]
		w.client.unkept.seen.put(key, struct{}{}, w.now)
	}
}

func handedOf(w Writer, o object) handedCopy {
	document, err := open("the copy", o.untyped())
	if err != nil {
		return handedCopy{}
	}
	return w.client.writes.handedOf(document)
}

// memorize returns what a Writer knows after a Commit.
func (m *commits) memorize(
	w Writer, key writeKey, known memory, before object, after *unstructured.Unstructured,
) memory {
	last := w.client.writes.get(key, w.now)
	next := memory{
		uid: known.uid, newest: uint8(last.newest), unanswered: uint8(last.unanswered), unkept: m.unkeptOf(w),
	}
	if last.handed == (handedCopy{}) {
		return next
	}
	next.handed = known.handed
	if known.handed.uid == 0 || last.handed != handedOf(w, known.handed) {
		status, _, _ := unstructured.NestedMap(after.Object, "status")
		next.handed = before.with(status)
	}
	return next
}

// unkeptOf is the index of the set of fields that a Writer remembers.
func (m *commits) unkeptOf(w Writer) uint16 {
	var keys []string
	for key := range w.client.unkept.seen.elements {
		keys = append(keys, string(key[:]))
	}
	slices.Sort(keys)
	set := strings.Join(keys, "")
	index := slices.Index(m.unkept, set)
	if index < 0 {
		index = len(m.unkept)
		m.unkept = append(m.unkept, set)
	}
	return uint16(index)
}

// report changes the status as a reconcile does that has found the truth.
func (c call) report(who int, after *unstructured.Unstructured) Facts {
	v := verdict{truth: c.before.truth, since: c.at}
	typ := "Ready"
	if who == second {
		typ = "Other"
	}
	var conds []metav1.Condition
	list, _, _ := unstructured.NestedSlice(after.Object, "status", "conditions")
	_ = json.Unmarshal(encode(list), &conds)
	var mine metav1.Condition
	_ = json.Unmarshal(encode(conditionTree(typ, v)), &mine)
	mine.ObservedGeneration = 0
	mine.LastTransitionTime = metav1.Time{}
	SetCondition(&conds, mine, clockOf(c.at))
	_ = unstructured.SetNestedField(after.Object, decode(encode(conds)), "status", "conditions")
	if who == second {
		return Facts{}
	}
	if c.bare {
		return Facts{Progress: Progress(c.before.truth - 1)}
	}
	_ = unstructured.SetNestedField(after.Object, strconv.Itoa(int(c.before.truth)), "status", "phase")
	return Facts{Progress: Progress(c.before.truth - 1)}
}
