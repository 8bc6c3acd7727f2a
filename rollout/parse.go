// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kjson "sigs.k8s.io/json"
)

// parse reads a Rollout strictly. An unknown field and a wrong type are errors
// with their paths, and all of them are reported. The result is never nil and
// holds what could be read.
func parse(obj map[string]any, refuseStatus bool) (*Rollout, field.ErrorList) {
	r := new(Rollout)
	// What Go code put there becomes what a server would see. Nothing is
	// shared.
	var tree map[string]any
	data, err := json.Marshal(obj)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, &tree)
	}
	if err != nil {
		return r, field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	var errs field.ErrorList
	if refuseStatus && tree["status"] != nil {
		errs = append(errs, field.Forbidden(field.NewPath("status"), "status is the controller's"))
	}
	delete(tree, "status")
	errs = append(errs, pruneTemplate(tree)...)
	// The decoder stops at the first wrong type, so they are taken out first.
	errs = append(errs, mistyped(nil, tree, reflect.TypeFor[Rollout]())...)
	if data, err = json.Marshal(tree); err != nil {
		return r, append(errs, field.InternalError(field.NewPath("spec"), err))
	}
	unknown, err := kjson.UnmarshalStrict(data, r)
	if err != nil {
		errs = append(errs, field.InternalError(field.NewPath("spec"), err))
	}
	for _, err := range unknown {
		errs = append(errs, unknownField(err))
	}
	return r, errs
}

// unknownField has the accepted names where the types are of this package.
func unknownField(err error) *field.Error {
	var named kjson.FieldError
	if !errors.As(err, &named) {
		return field.InternalError(field.NewPath("spec"), err)
	}
	path, detail := named.FieldPath(), "unknown field"
	if strings.HasPrefix(path, step(0).Root().String()) && !strings.HasPrefix(path, "spec.template") {
		if t := typeAt(path); t != nil {
			detail += "; there are " + strings.Join(slices.Sorted(maps.Keys(members(t))), ", ")
		}
	}
	return field.Forbidden(field.NewPath(path), detail)
}

// pruneTemplate removes what the CRD drops of a pod template's metadata, and
// refuses it. A server-side apply refuses it too, even if its value is null.
func pruneTemplate(tree map[string]any) (errs field.ErrorList) {
	spec, _ := tree["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	meta, _ := template["metadata"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != "labels" && key != "annotations" {
			errs = append(errs, field.Forbidden(at("template", "metadata", key), onlyLabels))
			delete(meta, key)
		}
	}
	return errs
}

const onlyLabels = "the CRD keeps only the labels and annotations of a pod template"

// mistyped finds each value that does not fit its field, and removes it from
// the tree.
func mistyped(path *field.Path, tree any, t reflect.Type) (errs field.ErrorList) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface {
		return nil // carried
	}
	inner := func(path *field.Path, value any, t reflect.Type, remove func()) {
		if value == nil {
			return
		}
		if fits(value, t) {
			errs = append(errs, mistyped(path, value, t)...)
			return
		}
		errs = append(errs, field.TypeInvalid(path, shown(value), "want "+want(t)))
		remove()
	}
	switch v := tree.(type) {
	case map[string]any:
		fields := members(t)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			of, known := fields[key]
			if t.Kind() == reflect.Map {
				of, known = t.Elem(), true
			}
			if known {
				inner(child(path, key), v[key], of, func() { delete(v, key) })
			}
		}
	case []any:
		for i := range v {
			inner(path.Index(i), v[i], t.Elem(), func() { v[i] = nil })
		}
	}
	return errs
}

// fits reports whether a value has the kind of its field. The content of an
// object and of a list is not looked at.
func fits(value any, t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	switch value.(type) {
	case map[string]any:
		if !own {
			return t.Kind() == reflect.Struct || t.Kind() == reflect.Map || t.Kind() == reflect.Interface
		}
	case []any:
		if !own {
			return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 || t.Kind() == reflect.Interface
		}
	}
	data, err := json.Marshal(value)
	return err == nil && kjson.UnmarshalCaseSensitivePreserveInts(data, reflect.New(t).Interface()) == nil
}

// shown is a value that an error may have. The value of a variable may be a
// secret.
func shown(value any) any {
	switch value.(type) {
	case map[string]any, []any, string:
		return field.OmitValueType{}
	}
	return value
}

// members are the types of a struct's fields by their JSON names.
func members(t reflect.Type) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name != "":
			out[name] = f.Type
		case f.Anonymous:
			maps.Copy(out, members(f.Type))
		}
	}
	return out
}

// typeAt is the struct that has the field of this path.
func typeAt(path string) reflect.Type {
	t := reflect.TypeFor[Rollout]()
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		name, _, _ = strings.Cut(name, "[")
		if t = members(t)[name]; t == nil {
			return nil
		}
	}
	return t
}

// follow appends the errors of the content that was read. It leaves out those
// in a field that could not be read.
func follow(unread, wrong field.ErrorList) field.ErrorList {
	known := len(unread)
	unread = slices.Clip(unread)
	for _, e := range wrong {
		if !slices.ContainsFunc(unread[:known], func(u *field.Error) bool { return within(e.Field, u.Field) }) {
			unread = append(unread, e)
		}
	}
	return unread
}

// within reports whether path is outer or something in it.
func within(path, outer string) bool {
	return path == outer || strings.HasPrefix(path, outer+".") || strings.HasPrefix(path, outer+"[")
}

func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

// want is how a JSON value of a type is written.
func want(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[Step]():
		return "an object such as {setWeight: 20} or {pause: {}}"
	case reflect.TypeFor[Pause]():
		return "{duration: 10m}, or {} to wait for a person"
	case reflect.TypeFor[[]Step]():
		return "a list of steps"
	case reflect.TypeFor[intstr.IntOrString]():
		return "a whole number or a string"
	case reflect.TypeFor[metav1.Time]():
		return "a time such as 2026-01-02T03:04:05Z"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return "a whole number of 32 bits"
	case reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return t.String()
	}
}
