// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// loose is the status of an unstructured object: any shape at all, read leniently and checked where it is used.
type loose struct {
	object map[string]any
	fields map[string]any // object's status; empty and not yet part of object where that has none
}

func readLoose(u runtime.Unstructured, _ string) (document, error) {
	d := &loose{object: u.UnstructuredContent()}
	switch s := d.object["status"].(type) {
	case nil:
		d.fields = map[string]any{}
	case map[string]any:
		d.fields = s
	default:
		return nil, fmt.Errorf("status: status: want an object, got %T", s)
	}
	return d, nil
}

func (d *loose) names() []string { return slices.Sorted(maps.Keys(d.fields)) }

func (d *loose) has(string) bool { return true }

func (d *loose) at(name string) any { return d.fields[name] }

func (d *loose) json(name string) ([]byte, error) {
	v := d.fields[name]
	if v == nil {
		return nil, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("status: status.%s: %w", name, err)
	}
	return canonical(raw), nil
}

func (d *loose) equal(other document) bool {
	return reflect.DeepEqual(d.fields, other.(*loose).fields)
}

func (d *loose) same(other document, name string) bool {
	return reflect.DeepEqual(d.fields[name], other.(*loose).fields[name])
}

func (d *loose) put(name string, v any) {
	if t, ok := v.(metav1.Time); ok {
		v = t.ToUnstructured()
	}
	d.fields[name] = v
	d.object["status"] = d.fields
}

func (d *loose) take(name string, other document) {
	v, ok := other.(*loose).fields[name]
	if !ok {
		delete(d.fields, name)
		return
	}
	d.fields[name] = v
	d.object["status"] = d.fields
}

func (d *loose) conditions(name string) ([]entry, error) {
	v := d.fields[name]
	if v == nil {
		return nil, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("status: status.%s: want a list, got %T", name, v)
	}
	list := make([]entry, len(items))
	for i, item := range items {
		list[i] = parseEntry(fmt.Sprintf("status.%s[%d]", name, i), item)
	}
	return list, nil
}

func (d *loose) setConditions(name string, list []entry) {
	if len(list) == 0 {
		delete(d.fields, name)
		return
	}
	items := make([]any, len(list))
	for i, e := range list {
		items[i] = e.raw
	}
	d.fields[name] = items
	d.object["status"] = d.fields
}
