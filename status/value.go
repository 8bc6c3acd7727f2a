// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// int reads a whole number; 0 where there is none.
func (d *document) int(name string) (int64, error) {
	if d.values != nil {
		return parseInt(d.values[name])
	}
	switch p := d.at(name).(type) {
	case nil:
		return 0, nil
	case *int64:
		return *p, nil
	case **int64:
		if *p == nil {
			return 0, nil
		}
		return **p, nil
	default:
		return 0, fmt.Errorf("want an int64 or *int64, got %s", reflect.TypeOf(p).Elem())
	}
}

// time reads a time; nil where there is none.
func (d *document) time(name string) (none *metav1.Time, err error) {
	if d.values != nil {
		return parseTime(d.values[name])
	}
	switch p := d.at(name).(type) {
	case nil:
		return none, nil
	case *metav1.Time:
		return p, nil
	case **metav1.Time:
		return *p, nil
	default:
		return nil, fmt.Errorf("want a metav1.Time or *metav1.Time, got %s", reflect.TypeOf(p).Elem())
	}
}

// putInt sets what int reads.
func (d *document) putInt(name string, v int64) {
	if d.values != nil {
		d.put(name, v)
		return
	}
	switch p := d.at(name).(type) {
	case *int64:
		*p = v
	case **int64:
		*p = &v
	}
}

// putTime sets what time reads.
func (d *document) putTime(name string, v metav1.Time) {
	if d.values != nil {
		d.put(name, v.ToUnstructured())
		return
	}
	switch p := d.at(name).(type) {
	case *metav1.Time:
		*p = v
	case **metav1.Time:
		*p = &v
	}
}

// put sets a key of the map, which becomes the object's status if it was not.
func (d *document) put(name string, v any) {
	d.values[name] = v
	d.object["status"] = d.values
}

// parseInt reads what decoders make of a whole number; 0 for nil.
func parseInt(v any) (int64, error) {
	switch v := v.(type) {
	case nil:
		return 0, nil
	case int64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float64:
		if n := int64(v); float64(n) == v {
			return n, nil
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("want a whole number, got %s", describe(v))
}

// parseTime reads RFC 3339 text; nil for nil.
func parseTime(v any) (none *metav1.Time, err error) {
	if v == nil {
		return none, nil
	}
	if s, ok := v.(string); ok {
		if t, err := time.Parse(time.RFC3339, s); err == nil {
			return new(metav1.NewTime(t)), nil
		}
	}
	return nil, fmt.Errorf("want a time such as 2006-01-02T15:04:05Z, got %s", describe(v))
}

// describe tells the type, and of text how it begins.
func describe(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%.40q", s)
	}
	return fmt.Sprintf("%T", v)
}
