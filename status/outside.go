// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refuseOutside returns an error that names what differs outside of the status,
// which Commit does not send. If after has another version than before, a
// separate request has sent it.
func (c *change) refuseOutside() error {
	before := c.base.object
	after := c.after.object
	if before.GetResourceVersion() != after.GetResourceVersion() {
		return nil
	}
	names := c.outside()
	if names == nil {
		return nil
	}
	last := len(names) - 1
	list := names[last]
	if last > 0 {
		list = strings.Join(names[:last], ", ") + " and " + list
	}
	return fmt.Errorf("status: commit: %s of %s differ from before, and Commit writes only the status; "+
		"send them with a separate request before", list, nameOf(before))
}

// outside returns the paths that differ outside of the status.
func (c *change) outside() []string {
	before := c.base.object
	after := c.after.object
	var names []string
	if !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) {
		names = append(names, "metadata.annotations")
	}
	if !slices.Equal(before.GetFinalizers(), after.GetFinalizers()) {
		names = append(names, "metadata.finalizers")
	}
	if !maps.Equal(before.GetLabels(), after.GetLabels()) {
		names = append(names, "metadata.labels")
	}
	if !slices.EqualFunc(before.GetOwnerReferences(), after.GetOwnerReferences(), sameOwner) {
		names = append(names, "metadata.ownerReferences")
	}
	if c.after.isTyped() {
		return append(names, typedParts(c.base.document, c.after.document)...)
	}
	return append(names, looseParts(c.base.root, c.after.root)...)
}

func sameOwner(a, b metav1.OwnerReference) bool { return reflect.DeepEqual(a, b) }

// typedParts are the names of the fields of a struct that differ.
func typedParts(before, after *document) []string {
	a := reflect.Indirect(reflect.ValueOf(before.object))
	b := reflect.Indirect(reflect.ValueOf(after.object))
	status := after.slot.Addr().Interface()
	var names []string
	for i := range b.NumField() {
		if !b.Field(i).CanInterface() {
			continue
		}
		was := a.Field(i).Addr().Interface()
		is := b.Field(i).Addr().Interface()
		if is == status || !differs(was, is) {
			continue
		}
		name, _, _ := strings.Cut(b.Type().Field(i).Tag.Get("json"), ",")
		if isPart(name) {
			names = append(names, name)
		}
	}
	return names
}

// looseParts are the keys of an unstructured object whose values differ.
func looseParts(before, after map[string]any) []string {
	var names []string
	for name := range after {
		if isPart(name) && differs(before[name], after[name]) {
			names = append(names, name)
		}
	}
	for name := range before {
		_, has := after[name]
		if !has && isPart(name) && differs(before[name], nil) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isPart reports whether name is a part of an object such as the spec.
func isPart(name string) bool {
	return !slices.Contains([]string{"", absent, "apiVersion", "kind", "metadata", "status"}, name)
}

// differs reports whether the API server would store a and b as two values. An
// empty value is the same as none.
func differs(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return false
	}
	return !reflect.DeepEqual(storedForm(a), storedForm(b))
}

// storedForm is the form in which the API server stores v. It is nil for an
// empty value.
func storedForm(v any) any {
	stored := decode(encode(v))
	if isZero(stored) {
		return nil
	}
	return stored
}
