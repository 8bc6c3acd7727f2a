// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// document is the status of one object, whatever its Go type: a struct, or the map of an unstructured object. Everything
// above it is one code path for both. Documents that meet are of one type.
type document struct {
	self   any            // pointer to the struct, or the map
	fields []field        // of the struct, sorted by name
	values map[string]any // the map; nil of a struct
	object map[string]any // whose status the map is, or becomes by the first write
}

// read finds the status of o, which errors call by its role.
func read(o Object, role string) (*document, error) {
	u, ok := any(o).(runtime.Unstructured)
	if !ok {
		return readStruct(o, role)
	}
	d := &document{object: u.UnstructuredContent()}
	switch s := d.object["status"].(type) {
	case nil:
		d.values = map[string]any{}
	case map[string]any:
		d.values = s
	default:
		return nil, fmt.Errorf("status: .status: want an object, got %T", s)
	}
	if d.values == nil { // a typed nil
		d.values = map[string]any{}
	}
	d.self = d.values
	return d, nil
}

// namesOf lists, in order, extra and the fields of the structs, or the keys of the maps.
func namesOf(docs []*document, extra ...string) []string {
	size := len(extra)
	for _, d := range docs {
		size += len(d.fields) + len(d.values)
	}
	names := append(make([]string, 0, size), extra...)
	for _, d := range docs {
		for i := range d.fields {
			names = append(names, d.fields[i].name)
		}
		for name := range d.values {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// has reports whether there is a place for the field.
func (d *document) has(name string) bool {
	return d.values != nil || d.find(name) != nil
}

// at returns a pointer to the field of the struct, or the value in the map; nil where there is neither.
func (d *document) at(name string) any {
	if d.values != nil {
		return d.values[name]
	}
	if f := d.find(name); f != nil {
		return f.value.Addr().Interface()
	}
	return nil
}

// json returns the field as canonical JSON; nil where it is absent, null, or left out because it is empty.
func (d *document) json(name string) ([]byte, error) {
	var raw []byte
	var err error
	if d.values != nil {
		raw, err = treeJSON(d.values[name])
	} else {
		raw, err = d.find(name).json()
	}
	if err != nil {
		return nil, fmt.Errorf("status: status.%s: %w", name, err)
	}
	return raw, nil
}

// equal reports whether two statuses are certainly the same, and same whether a field is. False means: compare the JSON.
func (d *document) equal(other *document) bool { return sameTree(d.self, other.self, 0) }

func (d *document) same(other *document, name string) bool {
	return sameTree(d.at(name), other.at(name), 0)
}

// take makes the field what it is in other.
func (d *document) take(name string, other *document) {
	if d.values == nil {
		d.find(name).take(other.find(name))
		return
	}
	if v, ok := other.values[name]; ok {
		d.put(name, v)
	} else {
		delete(d.values, name)
	}
}

// conditions reads a list of conditions.
func (d *document) conditions(name string) ([]entry, error) {
	if d.values == nil {
		if p := d.find(name).conditions(); p != nil {
			return entries(*p), nil
		}
		return nil, nil
	}
	v := d.values[name]
	if v == nil {
		return nil, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("status: status.%s: want a list, got %T", name, v)
	}
	list := make([]entry, len(items))
	for i, item := range items {
		list[i] = parseEntry(item)
	}
	return list, nil
}

// setConditions writes a list of conditions.
func (d *document) setConditions(name string, list []entry) {
	switch {
	case d.values == nil:
		if p := d.find(name).conditions(); p != nil {
			*p = bare(list)
		}
	case len(list) == 0:
		delete(d.values, name)
	default:
		d.put(name, raws(list))
	}
}
