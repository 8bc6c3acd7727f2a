// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// parse reads a Rollout strictly: what a cluster would drop or refuse to decode is an error with its path, and all of them are
// reported, where a decoder stops at the first. The result is never nil and holds what could be read.
func parse(obj map[string]any, refuseStatus bool) (*Rollout, field.ErrorList) {
	r, p := new(Rollout), new(parser)
	// What Go code put there becomes what a server would see; and nothing is shared.
	obj, err := normal(obj)
	if err != nil {
		return r, field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	if refuseStatus && obj["status"] != nil {
		p.errs = append(p.errs, field.Forbidden(field.NewPath("status"), "status is the controller's"))
	}
	delete(obj, "status")
	var top struct {
		APIVersion *string        `json:"apiVersion"`
		Kind       *string        `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       *Spec          `json:"spec"`
	}
	top.APIVersion, top.Kind, top.Spec = &r.APIVersion, &r.Kind, &r.Spec
	p.object(obj, reflect.ValueOf(&top).Elem(), nil)
	p.strict(top.Metadata, &r.ObjectMeta, field.NewPath("metadata"))
	return r, p.errs
}

// follow adds what is wrong with the content of what was read, but for what could not be read and what is in it.
func follow(unread, wrong field.ErrorList) field.ErrorList {
	known := len(unread)
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

// normal is obj as JSON has it, with whole numbers as int64. It fails on what JSON cannot hold.
func normal(obj map[string]any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	err = utiljson.Unmarshal(data, &out)
	return out, err
}

type parser struct{ errs field.ErrorList }

// object fills the fields of a struct of this package by their JSON names.
func (p *parser) object(m map[string]any, into reflect.Value, path *field.Path) {
	fields := map[string]reflect.Value{}
	for i := range into.NumField() {
		name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = into.Field(i)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		f, known := fields[key]
		if !known {
			p.errs = append(p.errs, field.Forbidden(child(path, key), "unknown field; there are "+
				strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
			continue
		}
		p.value(m[key], f, child(path, key))
	}
}

func (p *parser) value(raw any, into reflect.Value, path *field.Path) {
	if raw == nil {
		return
	}
	t := into.Type()
	if t.Kind() == reflect.Pointer {
		if into.IsNil() {
			into.Set(reflect.New(t.Elem()))
		}
		into, t = into.Elem(), t.Elem()
	}
	switch {
	case t == reflect.TypeFor[map[string]any]():
		if m := p.asObject(raw, path, t); m != nil {
			into.Set(reflect.ValueOf(m))
		}
	case t == reflect.TypeFor[[]Step]():
		p.steps(raw, into, path)
	case t.PkgPath() == reflect.TypeFor[Rollout]().PkgPath():
		if m := p.asObject(raw, path, t); m != nil {
			p.object(m, into, path)
		}
	case t == reflect.TypeFor[corev1.PodTemplateSpec]():
		if m := p.asObject(raw, path, t); m != nil {
			p.templateMeta(m, path)
			p.strict(m, into.Addr().Interface(), path)
		}
	case t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		if m := p.asObject(raw, path, t); m != nil {
			p.strict(m, into.Addr().Interface(), path)
		}
	default:
		data, err := json.Marshal(raw)
		if err == nil {
			err = json.Unmarshal(data, into.Addr().Interface())
		}
		if err != nil {
			p.errs = append(p.errs, field.TypeInvalid(path, raw, "want "+want(t)))
		}
	}
}

func (p *parser) steps(raw any, into reflect.Value, path *field.Path) {
	list, ok := raw.([]any)
	if !ok {
		p.errs = append(p.errs, field.TypeInvalid(path, field.OmitValueType{}, "want a list of steps"))
		return
	}
	steps := make([]Step, len(list))
	for i := range list {
		// A null is left as a step without an action, which is refused.
		if list[i] == nil {
			continue
		}
		if m := p.asObject(list[i], path.Index(i), reflect.TypeFor[Step]()); m != nil {
			p.object(m, reflect.ValueOf(&steps[i]).Elem(), path.Index(i))
		}
	}
	into.Set(reflect.ValueOf(steps))
}

func (p *parser) asObject(raw any, path *field.Path, t reflect.Type) map[string]any {
	m, ok := raw.(map[string]any)
	if !ok {
		detail := "want an object"
		switch t {
		case reflect.TypeFor[Step]():
			detail = "want an object such as {setWeight: 20} or {pause: {}}"
		case reflect.TypeFor[Pause]():
			detail = "want {duration: 10m}, or {} to wait for a person"
		}
		p.errs = append(p.errs, field.TypeInvalid(path, field.OmitValueType{}, detail))
	}
	return m
}

// strict fills a struct of Kubernetes' own.
func (p *parser) strict(m map[string]any, into any, path *field.Path) {
	if wide(m) {
		p.errs = append(p.errs, narrow(m, reflect.TypeOf(into), path)...)
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m, into, true)
	if err == nil {
		return
	}
	unknown, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		p.errs = append(p.errs, field.TypeInvalid(path, field.OmitValueType{}, err.Error()))
		return
	}
	for _, err := range unknown.Errors() {
		at, detail := path, err.Error()
		if _, name, ok := strings.Cut(detail, `"`); ok {
			at, detail = field.NewPath(path.String()+"."+strings.TrimSuffix(name, `"`)), "unknown field"
		}
		p.errs = append(p.errs, field.Forbidden(at, detail))
	}
}

// templateMeta refuses what the CRD drops of a pod template's metadata, even where its value is null: server-side apply
// does so too.
func (p *parser) templateMeta(template map[string]any, path *field.Path) {
	meta, _ := template["metadata"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != "labels" && key != "annotations" {
			p.errs = append(p.errs, field.Forbidden(path.Child("metadata", key), onlyLabels))
			delete(meta, key)
		}
	}
}

const onlyLabels = "the CRD keeps only the labels and annotations of a pod template"

func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

// want is how a JSON value of a type is written.
func want(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a string"
	default:
	}
	switch t.Name() {
	case "IntOrString":
		return "a whole number or a string"
	case "Time":
		return "a time such as 2026-01-02T03:04:05Z"
	}
	return t.String()
}
