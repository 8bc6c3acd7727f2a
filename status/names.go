// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FieldNames says where the status of a kind keeps the contract's fields, by
// their JSON names directly under status. An empty name means the default,
// which each field's comment gives. "-" means that the kind has no such field,
// or that another controller owns it. The zero FieldNames has the names of a
// [Stamp].
//
//	status.FieldNames{StartedAt: "startTime", FinishedAt: "completionTime"}
//
// A typed status may leave out observedGeneration, updatedAt and conditions
// without a "-". An unstructured status has no type to look at: set "-" for
// each field that the schema of the kind does not have. In it a time is an RFC
// 3339 text.
//
// FieldNames.Patch and Commit return an error for a name that a typed status
// does not have, that two fields share, or that is not directly under status.
type FieldNames struct {
	// ObservedGeneration is an int64 or *int64; empty means observedGeneration.
	// Under another name kstatus does not find it, and reports an object as
	// Current although its new spec was not reconciled yet. A controller that
	// does not reconcile the spec sets "-": see the package comment.
	ObservedGeneration string
	// UpdatedAt is a *metav1.Time or metav1.Time; empty means updatedAt.
	UpdatedAt string
	// StartedAt is a *metav1.Time or metav1.Time; empty means startedAt. A
	// status without it is accepted until an object runs.
	StartedAt string
	// FinishedAt is a *metav1.Time or metav1.Time; empty means finishedAt. A
	// status without it is accepted until an object is done.
	FinishedAt string
	// Conditions is a list of conditions, such as a []metav1.Condition; empty
	// means conditions. The items may have another Go type, with the fields
	// type and status. Commit sets only fields that the type has, and all in a
	// type with an UnmarshalJSON. In an unstructured status it sets
	// lastTransitionTime and observedGeneration in a new condition, and in a
	// stored condition only if it has them.
	//
	// With "-" a list named conditions is one value: Commit does not check or
	// redact its items. Use it for a list that has a type twice, such as a
	// history.
	Conditions string

	_ struct{}
}

// Patch applies the contract to after's status and returns the merge patch for
// the status subresource that makes before into after, pinned to before's
// resourceVersion. It returns nil if nothing but updatedAt would change. It
// sends nothing: pass the patch to any client, as types.MergePatchType. n says
// where the kind keeps the contract's fields: FieldNames{} is usual.
//
// before is the object that the reconcile read, such as the informer's copy.
// Patch never changes it. after is a DeepCopy of before with a changed status.
// Generation and version come from before, so that the status never claims a
// spec that the reconcile did not see.
//
// Patch ignores the four contract fields of after and computes them itself,
// from before and f, by the rules of [Stamp.Observe]. Conditions that changed
// are fitted as by [SetCondition], and their order does not count. Differences
// outside of the status are not sent.
//
// The patch has all changes: null for a field that was cleared, and a whole
// list for a list that changed. It also has fields that are zero: a schema may
// require them, and a typed object does not show whether they are stored.
//
// Patch makes after's status what the API server stores after the patch. An
// error does not change after. [ErrSuperseded] says that before's status is of
// a newer generation than its spec. Patch is safe for concurrent use if each
// call has its own after.
func (n FieldNames) Patch(before, after Object, f Facts, now time.Time) ([]byte, error) {
	err := refusePair(before, after)
	if err != nil {
		return nil, err
	}
	c, err := Writer{FieldNames: n}.plan(before, after, f, now)
	if err != nil {
		return nil, err
	}
	patch := c.patch(0)
	if patch == nil {
		return nil, setStatus(after, c.want)
	}
	data, err := pinned(before, patch)
	if err != nil {
		return nil, err
	}
	return data, setStatus(after, c.want)
}

// absent is the name of a field that a kind does not have.
const absent = "-"

// resolve fills in the names for o, whose stored status is known. It refuses
// names that o has no field for.
func (n FieldNames) resolve(o Object, stored map[string]any) (FieldNames, error) {
	fields := []struct {
		name    *string
		usual   string
		mayLack bool // without it, setStamp refuses an object that needs it
	}{
		{&n.ObservedGeneration, "observedGeneration", true},
		{&n.UpdatedAt, "updatedAt", true},
		{&n.StartedAt, "startedAt", false},
		{&n.FinishedAt, "finishedAt", false},
		{&n.Conditions, "conditions", true},
	}
	usedBy := map[string]string{}
	for _, f := range fields {
		isAsked := *f.name != ""
		name := cmp.Or(*f.name, f.usual)
		*f.name = name
		if name == absent {
			continue
		}
		if strings.ContainsAny(name, ".[]") || strings.TrimSpace(name) != name {
			return n, fmt.Errorf("status: FieldNames: the name %q of %s is not accepted; "+
				"want a field directly under status, without dots, brackets and blanks, or \"-\"",
				name, f.usual)
		}
		other, isUsed := usedBy[name]
		if isUsed {
			return n, fmt.Errorf("status: FieldNames: %s and %s are both %q; want different names",
				other, f.usual, name)
		}
		usedBy[name] = f.usual
		_, isStored := stored[name]
		switch {
		case isStored, !isAsked && !f.mayLack, accepts(o, map[string]any{name: nil}):
		case isAsked:
			return n, noField(name)
		default:
			*f.name = absent
		}
	}
	return n, nil
}

// accepts reports whether the Go type of o's status has the fields. A map has
// every field.
func accepts(o Object, fields map[string]any) bool {
	v, err := valueOf(o)
	if err != nil {
		return false
	}
	raw, _ := json.Marshal(fields) // of JSON values
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(reflect.New(v.Type()).Interface()) == nil
}

func noField(name string) error {
	return fmt.Errorf("status: status.%s: the status has no such field; "+
		"add it, or set its name in FieldNames, or \"-\" for none", name)
}

// stampOf returns the contract's fields of a status. n is resolved.
func (n FieldNames) stampOf(fields map[string]any) (Stamp, error) {
	var s Stamp
	generation, has := fields[n.ObservedGeneration]
	number, isWhole := generation.(int64)
	if has && !isWhole {
		return s, fmt.Errorf("status: status.%s: want a whole number, got %T",
			n.ObservedGeneration, generation)
	}
	s.ObservedGeneration = number
	times := []struct {
		name string
		to   **metav1.Time
	}{
		{n.UpdatedAt, &s.UpdatedAt},
		{n.StartedAt, &s.StartedAt},
		{n.FinishedAt, &s.FinishedAt},
	}
	for _, t := range times {
		value, has := fields[t.name]
		if !has {
			continue
		}
		parsed, err := timeOf(value)
		if err != nil {
			return s, fmt.Errorf("status: status.%s%w", t.name, err)
		}
		*t.to = &parsed
	}
	return s, nil
}

// timeOf reads an encoded time. The error begins with a colon.
func timeOf(value any) (metav1.Time, error) {
	text, _ := value.(string)
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return metav1.Time{}, fmt.Errorf(": want a time such as 2006-01-02T15:04:05Z, got %.40q", value)
	}
	return metav1.Time{Time: parsed}, nil
}
