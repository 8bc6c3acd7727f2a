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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// typed is a status struct, as encoding/json sees it. It is read anew each time: since Go 1.26 looking at the fields of a
// type allocates nothing, and a cache would be state to guard.
type typed struct {
	self   reflect.Value // pointer to the struct
	fields []typedField  // sorted by name
}

type typedField struct {
	name                        string
	value                       reflect.Value // addressable
	depth                       int           // of embedding
	tagged                      bool
	omitEmpty, omitZero, quoted bool
}

func readTyped(o Object, role string) (document, error) {
	v, err := statusOf(o)
	if err != nil {
		return nil, err
	}
	if v.Kind() == reflect.Pointer {
		switch {
		case !v.IsNil():
			v = v.Elem()
		case role == "after":
			return nil, fmt.Errorf("status: the status of %T is nil; set it to a struct", o)
		default:
			v = reflect.New(v.Type().Elem()).Elem()
		}
	}
	if _, ok := v.Addr().Interface().(json.Marshaler); ok {
		return nil, fmt.Errorf("status: %s has a MarshalJSON of its own; want a plain struct", v.Type())
	}
	d := &typed{self: v.Addr(), fields: make([]typedField, 0, v.NumField()+4)}
	d.collect(v, 0)
	d.distinct()
	return d, nil
}

// statusOf returns the field of JSON name status: a struct or a pointer to one.
func statusOf(o Object) (reflect.Value, error) {
	v := reflect.ValueOf(o)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, fmt.Errorf("status: %T is neither a pointer to a struct nor unstructured", o)
	}
	v = v.Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "status" || !f.IsExported() {
			continue
		}
		if t := f.Type; t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
			return v.Field(i), nil
		}
		return reflect.Value{}, fmt.Errorf("status: the status of %T is a %s; want a struct or a pointer to one", o, f.Type)
	}
	return reflect.Value{}, fmt.Errorf("status: %T has no field of JSON name status", o)
}

// collect appends the fields of v by the rules of encoding/json, those of embedded structs as if they were v's.
func (d *typed) collect(v reflect.Value, depth int) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			in := v.Field(i)
			if in.Kind() == reflect.Pointer && f.IsExported() {
				in = in.Elem() // of a nil pointer: invalid, and has no fields, as in JSON
			}
			if in.Kind() == reflect.Struct {
				d.collect(in, depth+1)
			}
			if in.Kind() == reflect.Struct || !in.IsValid() {
				continue
			}
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		field := typedField{name: cmp.Or(name, f.Name), value: v.Field(i), depth: depth, tagged: name != ""}
		for o := range strings.SplitSeq(options, ",") {
			field.omitEmpty = field.omitEmpty || o == "omitempty"
			field.omitZero = field.omitZero || o == "omitzero"
			field.quoted = field.quoted || o == "string"
		}
		d.fields = append(d.fields, field)
	}
}

// distinct sorts the fields, and where names meet keeps the one that encoding/json keeps: the least embedded, of several
// such the tagged one, else none.
func (d *typed) distinct() {
	rank := func(f typedField) int {
		if f.tagged {
			return 2 * f.depth
		}
		return 2*f.depth + 1
	}
	slices.SortFunc(d.fields, func(a, b typedField) int {
		return cmp.Or(strings.Compare(a.name, b.name), rank(a)-rank(b))
	})
	kept := d.fields[:0]
	for i := 0; i < len(d.fields); {
		end := i + 1
		for end < len(d.fields) && d.fields[end].name == d.fields[i].name {
			end++
		}
		if end == i+1 || rank(d.fields[i]) < rank(d.fields[i+1]) {
			kept = append(kept, d.fields[i])
		}
		i = end
	}
	d.fields = kept
}

func (d *typed) find(name string) *typedField {
	for i := range d.fields {
		if d.fields[i].name == name {
			return &d.fields[i]
		}
	}
	return nil
}

func (d *typed) names() []string {
	names := make([]string, len(d.fields))
	for i, f := range d.fields {
		names[i] = f.name
	}
	return names
}

func (d *typed) has(name string) bool { return d.find(name) != nil }

func (d *typed) at(name string) any {
	if f := d.find(name); f != nil {
		return f.value.Addr().Interface()
	}
	return nil
}

func (d *typed) json(name string) ([]byte, error) {
	f := d.find(name)
	if f == nil || f.omitted() {
		return nil, nil
	}
	raw, err := json.Marshal(f.value.Addr().Interface())
	if err != nil {
		return nil, fmt.Errorf("status: status.%s: %w", name, err)
	}
	if f.quoted && raw[0] != 'n' {
		if raw, err = json.Marshal(string(raw)); err != nil {
			return nil, fmt.Errorf("status: status.%s: %w", name, err)
		}
	}
	return canonical(raw), nil
}

// omitted reports whether encoding/json leaves the field out.
func (f *typedField) omitted() bool {
	if f.omitEmpty {
		switch v := f.value; v.Kind() {
		case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
			return v.Len() == 0
		case reflect.Struct:
		default:
			return v.IsZero()
		}
	}
	if !f.omitZero {
		return false
	}
	if z, ok := f.value.Addr().Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return f.value.IsZero()
}

func (d *typed) equal(other document) bool {
	return reflect.DeepEqual(d.self.Interface(), other.(*typed).self.Interface())
}

func (d *typed) same(other document, name string) bool {
	f, g := d.find(name), other.(*typed).find(name)
	if f == nil || g == nil {
		return f == g
	}
	switch f.value.Kind() {
	case reflect.Array, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice, reflect.Struct:
		return reflect.DeepEqual(f.value.Addr().Interface(), g.value.Addr().Interface())
	default:
		return f.value.Comparable() && f.value.Equal(g.value)
	}
}

func (d *typed) put(name string, v any) {
	switch p := d.at(name).(type) {
	case *int64:
		*p = v.(int64)
	case **int64:
		*p = new(v.(int64))
	case *metav1.Time:
		*p = v.(metav1.Time)
	case **metav1.Time:
		*p = new(v.(metav1.Time))
	}
}

func (d *typed) take(name string, other document) {
	f, g := d.find(name), other.(*typed).find(name)
	if f == nil {
		return
	}
	if g == nil {
		f.value.SetZero()
		return
	}
	f.value.Set(g.value)
	// What is restored from before must not lead back into the informer's copy.
	switch p := f.value.Addr().Interface().(type) {
	case **metav1.Time:
		*p = (*p).DeepCopy()
	case **int64:
		if *p != nil {
			*p = new(**p)
		}
	}
}

func (d *typed) conditions(name string) ([]entry, error) {
	p := d.conditionsAt(name)
	if p == nil || len(*p) == 0 {
		return nil, nil
	}
	list := make([]entry, len(*p))
	for i, c := range *p {
		list[i].Condition = c
	}
	return list, nil
}

func (d *typed) setConditions(name string, list []entry) {
	if p := d.conditionsAt(name); p != nil {
		*p = bare(list)
	}
}

// conditionsAt returns nil where there is no such field, and for a slice of another element type.
func (d *typed) conditionsAt(name string) *[]metav1.Condition {
	want := reflect.TypeFor[*[]metav1.Condition]()
	f := d.find(name)
	if f == nil || !f.value.Addr().CanConvert(want) {
		return nil
	}
	p, _ := f.value.Addr().Convert(want).Interface().(*[]metav1.Condition)
	return p
}
