// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// diff goes from one status, old, to another: the fields of cur, with the stamp is and the conditions list.
type diff struct {
	names    Names // resolved
	old, cur *document
	was, is  Stamp
	stored   []entry // the conditions of old, and what becomes of them
	list     []entry
	settled  bool // these two count; else the conditions are as in old
	changed  bool // anything but updatedAt
}

// body returns the patch, pinned to version. It sets d.changed if it finds a change.
func (d *diff) body(version string) ([]byte, error) {
	n := d.names
	contract := n.list()

	b := make([]byte, 0, 512+room(d.list))
	b = append(b, `{"metadata":{"resourceVersion":`...)
	b = appendText(b, version)
	b = append(b, `},"status":{`...)
	first := len(b)
	for _, name := range namesOf([]*document{d.old, d.cur}, contract[:]...) {
		mark := len(b)
		if len(b) > first {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		body, differs, err := d.field(b, name)
		if err != nil {
			return nil, err
		}
		if b = body; !differs {
			b = b[:mark]
			continue
		}
		d.changed = d.changed || name != n.UpdatedAt || name == absent
	}
	return append(b, "}}"...), nil
}

// field appends what the patch says of one field, and reports whether it says anything.
func (d *diff) field(b []byte, name string) (_ []byte, differs bool, err error) {
	n := d.names
	if !n.has(name) {
		return d.plain(b, name)
	}
	switch name {
	case n.ObservedGeneration:
		return strconv.AppendInt(b, d.is.ObservedGeneration, 10), d.was.ObservedGeneration != d.is.ObservedGeneration, nil
	case n.UpdatedAt:
		return appendTime(b, d.is.UpdatedAt), true, nil
	case n.StartedAt:
		return d.once(b, name, d.was.StartedAt, d.is.StartedAt)
	case n.FinishedAt:
		return d.once(b, name, d.was.FinishedAt, d.is.FinishedAt)
	default:
		return d.conditions(b)
	}
}

// plain appends what changed in a field of the kind's own.
func (d *diff) plain(b []byte, name string) (_ []byte, differs bool, err error) {
	if d.cur.same(d.old, name) {
		return b, false, nil
	}
	was, err := d.old.json(name)
	if err != nil {
		return b, false, err
	}
	is, err := d.cur.json(name)
	if err != nil {
		return b, false, err
	}
	b, differs = appendDiff(b, was, is)
	return b, differs, nil
}

// once appends a time that is set for good.
func (d *diff) once(b []byte, name string, was, is *metav1.Time) ([]byte, bool, error) {
	if sameSecond(was, is) {
		return b, false, nil
	}
	if !d.cur.has(name) {
		return b, false, noField(name)
	}
	return appendTime(b, is), true, nil
}

func (d *diff) conditions(b []byte) ([]byte, bool, error) {
	switch {
	case !d.settled:
		return b, false, nil
	case len(d.list) == 0:
		return append(b, "null"...), len(d.stored) > 0, nil
	}
	b, differs, err := appendEntries(b, d.stored, d.list)
	if err != nil {
		return b, false, fmt.Errorf("status: status.%s: %w", d.names.Conditions, err)
	}
	return b, differs, nil
}

// apply makes cur what the patch makes of old.
func (d *diff) apply() {
	n := d.names
	switch {
	case n.ObservedGeneration == absent:
	case d.was.ObservedGeneration == d.is.ObservedGeneration:
		d.cur.take(n.ObservedGeneration, d.old)
	default:
		d.cur.putInt(n.ObservedGeneration, d.is.ObservedGeneration)
	}
	for _, t := range [...]struct {
		name    string
		was, is *metav1.Time
	}{
		{n.UpdatedAt, d.was.UpdatedAt, d.is.UpdatedAt},
		{n.StartedAt, d.was.StartedAt, d.is.StartedAt},
		{n.FinishedAt, d.was.FinishedAt, d.is.FinishedAt},
	} {
		switch {
		case t.name == absent:
		case sameSecond(t.was, t.is):
			d.cur.take(t.name, d.old) // with another program's milliseconds
		default:
			d.cur.putTime(t.name, *t.is)
		}
	}
	if d.settled {
		d.cur.setConditions(n.Conditions, d.list)
	}
}

func appendTime(b []byte, t *metav1.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, time.RFC3339)
	return append(b, '"')
}
