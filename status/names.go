// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names says where the status of a kind keeps the contract's fields, by their JSON names directly under status. Empty
// means the name in each comment; "-" means that the kind has no such field. The zero Names is that of a [Stamp].
//
//	status.Names{StartedAt: "startTime", FinishedAt: "completionTime"}
//
// Of a kind that has observedGeneration and conditions only, UpdatedAt is always to be named, for every write sets it, and the other two
// as soon as a Facts.Progress says that it runs or is done:
//
//	status.Names{UpdatedAt: "-", StartedAt: "-", FinishedAt: "-"}
//
// Names.Patch stands in place of Patch then, and Writer.Names is for a Writer.
type Names struct {
	// ObservedGeneration is an int64 or *int64; empty means observedGeneration. Under another name kstatus does not find it, and
	// calls the object Current after a change of its spec.
	ObservedGeneration string
	// UpdatedAt is a *metav1.Time or metav1.Time; empty means updatedAt.
	UpdatedAt string
	// StartedAt is a *metav1.Time or metav1.Time; empty means startedAt. A status without it is fine as long as nothing runs.
	StartedAt string
	// FinishedAt is a *metav1.Time or metav1.Time; empty means finishedAt. A status without it is fine as long as nothing is done.
	FinishedAt string
	// Conditions is a []metav1.Condition; empty means conditions. With "-" a list of that name is a field like any other:
	// it is neither checked nor merged.
	Conditions string

	_ struct{}
}

// absent is the name of a field that a kind does not have.
const absent = "-"

// resolve fills in the names, and refuses those that cannot be of one field each, or are not those of fields of d.
func (n Names) resolve(d *document) (Names, error) {
	asked := n
	n.ObservedGeneration = cmp.Or(n.ObservedGeneration, "observedGeneration")
	n.UpdatedAt = cmp.Or(n.UpdatedAt, "updatedAt")
	n.StartedAt = cmp.Or(n.StartedAt, "startedAt")
	n.FinishedAt = cmp.Or(n.FinishedAt, "finishedAt")
	n.Conditions = cmp.Or(n.Conditions, "conditions")
	all := n.list()
	for i, name := range all {
		if name == absent {
			continue
		}
		if strings.ContainsAny(name, ".[]") || strings.TrimSpace(name) != name {
			return n, fmt.Errorf("status: Names: %q is not a field directly under status", name)
		}
		if slices.Contains(all[:i], name) {
			return n, fmt.Errorf("status: Names: %q is given to two fields", name)
		}
	}
	return n, n.check(d, asked)
}

// list returns all the names.
func (n Names) list() [5]string {
	return [5]string{n.ObservedGeneration, n.UpdatedAt, n.StartedAt, n.FinishedAt, n.Conditions}
}

// has reports whether the field is one of the contract's, or the conditions. n is resolved.
func (n Names) has(name string) bool {
	all := n.list()
	return name != absent && slices.Contains(all[:], name)
}

// check refuses a status that has no place for what is written on every kind, or for a name that the user asked for.
func (n Names) check(d *document, asked Names) error {
	for _, f := range [...]struct{ name, asked string }{
		{n.ObservedGeneration, n.ObservedGeneration},
		{n.UpdatedAt, n.UpdatedAt},
		{n.StartedAt, asked.StartedAt},
		{n.FinishedAt, asked.FinishedAt},
		{n.Conditions, asked.Conditions},
	} {
		if f.asked != "" && f.name != absent && !d.has(f.name) {
			return noField(f.name)
		}
	}
	if f := d.find(n.Conditions); f != nil && f.conditions() == nil && n.Conditions != absent {
		return fmt.Errorf("status: status.%s: want []metav1.Condition, got %s; to leave it alone set Names.Conditions to \"-\"",
			n.Conditions, f.value.Type())
	}
	return nil
}

func noField(name string) error {
	return fmt.Errorf("status: status.%s: the status has no such field; add it, or say in Names what it is called, or \"-\" for none", name)
}

// read returns the contract's fields of d. n is resolved.
func (n Names) read(d *document) (s Stamp, err error) {
	if n.ObservedGeneration != absent {
		if s.ObservedGeneration, err = d.int(n.ObservedGeneration); err != nil {
			return s, fmt.Errorf("status: status.%s: %w", n.ObservedGeneration, err)
		}
	}
	for _, t := range [...]struct {
		name string
		to   **metav1.Time
	}{{n.UpdatedAt, &s.UpdatedAt}, {n.StartedAt, &s.StartedAt}, {n.FinishedAt, &s.FinishedAt}} {
		if t.name == absent {
			continue
		}
		if *t.to, err = d.time(t.name); err != nil {
			return s, fmt.Errorf("status: status.%s: %w", t.name, err)
		}
	}
	return s, nil
}

// mask keeps the fields that the kind does not have as they were. n is resolved.
func (n Names) mask(is *Stamp, was Stamp) {
	if n.ObservedGeneration == absent {
		is.ObservedGeneration = was.ObservedGeneration
	}
	if n.StartedAt == absent {
		is.StartedAt = was.StartedAt
	}
	if n.FinishedAt == absent {
		is.FinishedAt = was.FinishedAt
	}
}

// dropped reports the first of the contract's fields that was sent and is not in kept, which is what the API server stored.
func (n Names) dropped(sent, kept *document) error {
	n, err := n.resolve(sent)
	if err != nil {
		return err
	}
	want, err := n.read(sent)
	if err != nil {
		return err
	}
	got, err := n.read(kept)
	if err != nil {
		return err
	}
	for _, f := range [...]struct {
		name    string
		dropped bool
	}{
		{n.ObservedGeneration, want.ObservedGeneration != 0 && got.ObservedGeneration == 0},
		{n.UpdatedAt, !want.UpdatedAt.IsZero() && got.UpdatedAt.IsZero()},
		{n.StartedAt, !want.StartedAt.IsZero() && got.StartedAt.IsZero()},
		{n.FinishedAt, !want.FinishedAt.IsZero() && got.FinishedAt.IsZero()},
	} {
		if f.dropped {
			return fmt.Errorf("status: status.%s was not kept by the API server; declare it in the CRD's schema, "+
				"or say in Names what it is called, or \"-\" for none", f.name)
		}
	}
	return nil
}

// Stamp reads the contract's fields of o, as [Check] takes them. A status that is nil or absent has the zero Stamp. An
// error names the field and what is accepted.
func (n Names) Stamp(o Object) (Stamp, error) {
	if isNil(o) {
		return Stamp{}, errors.New("status: the object is nil")
	}
	d, err := read(o, "object")
	if err != nil {
		return Stamp{}, err
	}
	if n, err = n.resolve(d); err != nil {
		return Stamp{}, err
	}
	s, err := n.read(d)
	return *s.DeepCopy(), err
}
