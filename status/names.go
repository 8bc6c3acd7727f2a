// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
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
// Call FieldNames.Patch in place of [Patch], or set Writer.FieldNames.
// FieldNames.Patch and Commit return an error for a name that a typed status
// does not have, that two fields share, or that is not directly under status.
type FieldNames struct {
	// ObservedGeneration is an int64 or *int64; empty means observedGeneration.
	// Under another name kstatus does not find it, and reports an object as
	// Current although its new spec was not reconciled yet.
	//
	// If two controllers write the status of one object, only the controller
	// that reconciles the spec owns observedGeneration. The other one sets "-".
	// Its conditions still carry the generation that it read.
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
	// type and status: Commit sets only fields that the type has. An
	// unstructured status has no type: Commit sets lastTransitionTime and
	// observedGeneration in a new condition, and in a stored condition only if
	// it has them. An empty list is stored as such if the type has the field
	// without omitempty, or the stored status has a list.
	//
	// With "-" a list named conditions is one value: Commit does not check or
	// redact its items, and two writers that change it differently are a
	// conflict.
	Conditions string

	_ struct{}
}

// absent is the name of a field that a kind does not have.
const absent = "-"

// resolve fills in the names, and refuses names that d has no field for.
func (n FieldNames) resolve(d *document) (FieldNames, error) {
	fields := []struct {
		name     *string
		usual    string
		needsOne bool // setStamp refuses a field that the type does not have
	}{
		{&n.ObservedGeneration, "observedGeneration", false},
		{&n.UpdatedAt, "updatedAt", false},
		{&n.StartedAt, "startedAt", true},
		{&n.FinishedAt, "finishedAt", true},
		{&n.Conditions, "conditions", false},
	}
	usedBy := map[string]string{}
	for _, f := range fields {
		isAsked := *f.name != ""
		name := cmp.Or(*f.name, f.usual)
		*f.name = name
		if name == absent {
			continue
		}
		if !isFieldName(name) {
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
		switch {
		case d.has(name):
		case isAsked:
			return n, noField(name)
		case !f.needsOne:
			*f.name = absent
		}
	}
	return n, nil
}

// isFieldName reports whether name can be a field directly under status.
func isFieldName(name string) bool {
	return !strings.ContainsAny(name, ".[]") && strings.TrimSpace(name) == name
}

// has reports whether the field is one of the contract's, or the conditions. n
// is resolved.
func (n FieldNames) has(name string) bool {
	names := []string{n.ObservedGeneration, n.UpdatedAt, n.StartedAt, n.FinishedAt, n.Conditions}
	return name != absent && slices.Contains(names, name)
}

// nameOf is how an error names o: by the namespace, if it has one, and the
// name.
func nameOf(o Object) string { return strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/") }

func noField(name string) error {
	return fmt.Errorf("status: status.%s: the status has no such field; "+
		"add it, or set its name in FieldNames, or \"-\" for none", name)
}

// stampOf returns the contract's fields of d. n is resolved.
func (n FieldNames) stampOf(d *document) (Stamp, error) {
	var s Stamp
	var err error
	s.ObservedGeneration, err = asInt(d.field(n.ObservedGeneration))
	if err != nil {
		return s, fmt.Errorf("status: status.%s: %w", n.ObservedGeneration, err)
	}
	times := []struct {
		name string
		to   **metav1.Time
	}{
		{n.UpdatedAt, &s.UpdatedAt},
		{n.StartedAt, &s.StartedAt},
		{n.FinishedAt, &s.FinishedAt},
	}
	for _, t := range times {
		*t.to, err = asTime(d.field(t.name))
		if err != nil {
			return s, fmt.Errorf("status: status.%s: %w", t.name, err)
		}
	}
	return s, nil
}

// has reports whether there is a place for the field.
func (d *document) has(name string) bool { return !d.isTyped() || d.field(name) != nil }

// field returns a pointer to the field of the struct, or the value in the map.
// It is nil for no field.
func (d *document) field(name string) any {
	if name == absent {
		return nil
	}
	if !d.isTyped() {
		return d.status[name]
	}
	f, _ := find(d.typed.Elem(), name, 0)
	if !f.IsValid() {
		return nil
	}
	return f.Addr().Interface()
}

// noDepth is deeper than structs are embedded.
const noDepth = 16

// find returns the field that encoding/json knows by name: of several the one
// that is embedded least, and none if two are embedded equally deep. It is
// noDepth deep if there is none.
func find(v reflect.Value, name string, depth int) (found reflect.Value, at int) {
	at = noDepth
	for i := range v.NumField() {
		field, level := findIn(v.Field(i), v.Type().Field(i), name, depth)
		switch {
		case level < at:
			found = field
			at = level
		case level == at:
			found = reflect.Value{}
		}
	}
	return found, at
}

// findIn returns v if it is the field, or the field of the struct that v
// embeds.
func findIn(v reflect.Value, f reflect.StructField, name string, depth int) (reflect.Value, int) {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous && tag == "" {
		embedded := structOf(v)
		if embedded.IsValid() && depth < noDepth {
			return find(embedded, name, depth+1)
		}
	}
	isNamed := cmp.Or(tag, f.Name) == name
	if !isNamed || !f.IsExported() {
		return reflect.Value{}, noDepth
	}
	return v, depth
}

// structOf returns v, or what it points to. A nil pointer counts as one to an
// empty struct. There is none if it is not a struct.
func structOf(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		v = reflect.New(v.Type().Elem())
	}
	v = reflect.Indirect(v)
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v
}

// asInt reads a whole number from a field. It is 0 for no field.
func asInt(v any) (int64, error) {
	p, isPlain := v.(*int64)
	if isPlain {
		return *p, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("want a whole number, got %T", v)
	}
	switch n := decode(raw).(type) {
	case nil:
		return 0, nil
	case int64:
		return n, nil
	}
	return 0, fmt.Errorf("want a whole number, got %T", v)
}

// asTime reads a time from a field. It is nil for no field.
func asTime(v any) (none *metav1.Time, err error) {
	switch p := v.(type) {
	case nil:
		return none, nil
	case *metav1.Time:
		return p, nil
	case **metav1.Time:
		return *p, nil
	case string:
		t, err := time.Parse(time.RFC3339, p)
		if err != nil {
			return nil, fmt.Errorf("want a time such as 2006-01-02T15:04:05Z, got %.40q", p)
		}
		return &metav1.Time{Time: t}, nil
	}
	return nil, fmt.Errorf("want a metav1.Time, "+
		"or in an unstructured object a text such as 2006-01-02T15:04:05Z, got %T", v)
}
