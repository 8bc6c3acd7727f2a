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
	err := remarshal(obj, &tree)
	if err != nil {
		return r, field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	var errs field.ErrorList
	if refuseStatus && tree["status"] != nil {
		errs = append(errs, field.Forbidden(field.NewPath("status"), "status is the controller's"))
	}
	delete(tree, "status")
	errs = append(errs, pruneTemplate(tree)...)
	// The decoder alone stops at the first wrong type, without its index in a
	// list.
	var wrong reader
	data, err := json.Marshal(wrong.fitting(nil, tree, reflect.TypeOf(r)))
	errs = append(errs, wrong.errs...)
	if err != nil {
		return r, append(errs, field.InternalError(field.NewPath("spec"), err))
	}
	unknown, err := kjson.UnmarshalStrict(data, r)
	if err != nil {
		return r, append(errs, field.InternalError(field.NewPath("spec"), err))
	}
	for _, err := range unknown {
		errs = append(errs, unknownField(err))
	}
	return r, errs
}

// remarshal fills a value from the JSON of another.
func remarshal(from, into any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}

// pruneTemplate removes what the CRD drops of a pod template's metadata, and
// refuses it. A server-side apply refuses it too, even if its value is null.
func pruneTemplate(tree map[string]any) (errs field.ErrorList) {
	spec, _ := tree["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	meta, _ := template["metadata"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key == "labels" || key == "annotations" {
			continue
		}
		errs = append(errs, field.Forbidden(at("template", "metadata", key), onlyLabels))
		delete(meta, key)
	}
	return errs
}

const onlyLabels = "the CRD keeps only the labels and annotations of a pod template"

// reader collects the values that do not fit their fields.
type reader struct{ errs field.ErrorList }

// fitting is value without what in it does not fit the type.
func (r *reader) fitting(path *field.Path, value any, t reflect.Type) any {
	if value == nil || remarshal(value, reflect.New(t).Interface()) == nil {
		return value
	}
	known := len(r.errs)
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if of := member(t, key); of != nil {
				v[key] = r.fitting(path.Child(key), v[key], of)
			}
		}
	case []any:
		if of := element(t); of != nil {
			for i := range v {
				v[i] = r.fitting(path.Index(i), v[i], of)
			}
		}
	}
	if len(r.errs) > known {
		return value
	}
	r.errs = append(r.errs, field.TypeInvalid(path, shown(value), "want "+want(t)))
	return nil
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

// bare is what a pointer points to.
func bare(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// member is the type of a value in a struct or a map, or nil.
func member(t reflect.Type, key string) reflect.Type {
	t = bare(t)
	switch t.Kind() {
	case reflect.Struct:
		return members(t)[key]
	case reflect.Map:
		return t.Elem()
	default:
		return nil
	}
}

// element is the type of a value in a list, or nil.
func element(t reflect.Type) reflect.Type {
	t = bare(t)
	if t.Kind() != reflect.Slice {
		return nil
	}
	return t.Elem()
}

// members are the types of a struct's fields by their JSON names.
func members(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return out
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			out[name] = f.Type
		} else if f.Anonymous {
			maps.Copy(out, members(f.Type))
		}
	}
	return out
}

// unknownField has the accepted names where the types are of this package.
func unknownField(err error) *field.Error {
	var named kjson.FieldError
	if !errors.As(err, &named) {
		return field.InternalError(field.NewPath("spec"), err)
	}
	path := named.FieldPath()
	detail := "unknown field"
	t := typeOf(path)
	if t != nil && t.PkgPath() == reflect.TypeFor[Rollout]().PkgPath() {
		detail += "; there are " + strings.Join(slices.Sorted(maps.Keys(members(t))), ", ")
	}
	return field.Forbidden(field.NewPath(path), detail)
}

// typeOf is the type that would have the field of this path, or nil.
func typeOf(path string) reflect.Type {
	t := reflect.TypeFor[Rollout]()
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		name, _, list := strings.Cut(name, "[")
		t = member(t, name)
		if t != nil && list {
			t = element(t)
		}
		if t == nil {
			return nil
		}
	}
	return bare(t)
}

// follow appends the errors of the content that was read. It leaves out those
// in a field that could not be read.
func follow(unread, wrong field.ErrorList) field.ErrorList {
	all := slices.Clip(unread)
	for _, e := range wrong {
		hidden := slices.ContainsFunc(unread, func(u *field.Error) bool { return within(e.Field, u.Field) })
		if !hidden {
			all = append(all, e)
		}
	}
	return all
}

// within reports whether path is outer or something in it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// want is how a JSON value of a type is written.
func want(t reflect.Type) string {
	t = bare(t)
	switch t {
	case reflect.TypeFor[Step]():
		return "an object such as {setWeight: 20} or {pause: {}}"
	case reflect.TypeFor[Pause]():
		return "{duration: 10m}, or {} to wait for a person"
	case reflect.TypeFor[intstr.IntOrString]():
		return "a whole number or a string"
	case reflect.TypeFor[metav1.Time]():
		return "a time such as 2026-01-02T03:04:05Z"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int32, reflect.Int64:
		return "a whole number of " + strings.TrimPrefix(t.Kind().String(), "int") + " bits"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}
