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

// field is one field of a status struct, as encoding/json sees it. The fields are looked up anew for each patch: since
// Go 1.26 looking at the fields of a type allocates nothing, and a cache would be state to guard.
type field struct {
	name                        string
	value                       reflect.Value // addressable
	depth                       int32         // of embedding
	tagged                      bool
	omitEmpty, omitZero, quoted bool
}

// readStruct finds the status of a typed object. A nil pointer to it is an empty status, but not where it is to be written.
func readStruct(o Object, role string) (*document, error) {
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
	self := v.Addr().Interface()
	if _, ok := self.(json.Marshaler); ok {
		return nil, fmt.Errorf("status: %s has a MarshalJSON of its own; want a plain struct", v.Type())
	}
	fields := make([]field, 0, v.NumField()+3) // the four of an embedded Stamp instead of one
	return &document{self: self, fields: distinct(collect(fields, v, 0))}, nil
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
func collect(fields []field, v reflect.Value, depth int32) []field {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			in := v.Field(i)
			if in.Kind() == reflect.Pointer {
				in = in.Elem() // of a nil pointer: invalid, and has no fields, as in JSON
			}
			if in.Kind() == reflect.Struct {
				fields = collect(fields, in, depth+1)
			}
			if in.Kind() == reflect.Struct || !in.IsValid() {
				continue
			}
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		field := field{name: cmp.Or(name, f.Name), value: v.Field(i), depth: depth, tagged: name != ""}
		for o := range strings.SplitSeq(options, ",") {
			field.omitEmpty = field.omitEmpty || o == "omitempty"
			field.omitZero = field.omitZero || o == "omitzero"
			field.quoted = field.quoted || o == "string"
		}
		fields = append(fields, field)
	}
	return fields
}

// distinct sorts the fields, and where names meet keeps the one that encoding/json keeps: the least embedded, of several
// such the tagged one, else none.
func distinct(fields []field) []field {
	rank := func(f field) int32 {
		if f.tagged {
			return 2 * f.depth
		}
		return 2*f.depth + 1
	}
	slices.SortFunc(fields, func(a, b field) int {
		return cmp.Or(strings.Compare(a.name, b.name), int(rank(a)-rank(b)))
	})
	kept := fields[:0]
	for i := 0; i < len(fields); {
		end := i + 1
		for end < len(fields) && fields[end].name == fields[i].name {
			end++
		}
		if end == i+1 || rank(fields[i]) < rank(fields[i+1]) {
			kept = append(kept, fields[i])
		}
		i = end
	}
	return kept
}

func (d *document) find(name string) *field {
	for i := range d.fields {
		if d.fields[i].name == name {
			return &d.fields[i]
		}
	}
	return nil
}

// omitted reports whether encoding/json leaves the field out.
func (f *field) omitted() bool {
	if f.omitEmpty {
		switch v := f.value; v.Kind() {
		case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
			return v.Len() == 0
		case reflect.Struct: // is never empty
		default:
			return v.IsZero()
		}
	}
	if !f.omitZero {
		return false
	}
	if z, ok := reflect.TypeAssert[interface{ IsZero() bool }](f.value.Addr()); ok {
		return z.IsZero()
	}
	return f.value.IsZero()
}

// json returns the value of f as canonical JSON; nil for none.
func (f *field) json() ([]byte, error) {
	if f == nil || f.omitted() {
		return nil, nil
	}
	raw, err := json.Marshal(f.value.Addr().Interface())
	if err == nil && f.quoted && raw[0] != 'n' {
		raw, err = json.Marshal(string(raw))
	}
	if err != nil {
		return nil, err
	}
	return canonical(raw), nil
}

// take makes f what other is; both may be nil, which is the field of a nil embedded pointer. The contract's fields are
// copied, because what is restored from before must not lead back into the informer's copy.
func (f *field) take(other *field) {
	if f == nil {
		return
	}
	if other == nil {
		f.value.SetZero()
		return
	}
	f.value.Set(other.value)
	switch p := f.value.Addr().Interface().(type) {
	case **metav1.Time:
		*p = (*p).DeepCopy()
	case **int64:
		if *p != nil {
			*p = new(**p)
		}
	}
}

// conditions returns the list that f holds; nil for a field of another type, and for none.
func (f *field) conditions() *[]metav1.Condition {
	want := reflect.TypeFor[*[]metav1.Condition]()
	if f == nil || !f.value.Addr().CanConvert(want) {
		return nil
	}
	p, _ := reflect.TypeAssert[*[]metav1.Condition](f.value.Addr().Convert(want))
	return p
}
