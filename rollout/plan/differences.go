// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// differences are the paths at which two pod templates would not make the same
// pods. A field in only one of them counts, unless a server fills it in.
func differences(live, to *corev1.PodTemplateSpec) ([]string, error) {
	before, err := tree(live)
	if err != nil {
		return nil, err
	}
	after, err := tree(to)
	if err != nil {
		return nil, err
	}
	c := comparison{filled: filledIn(), hostNetwork: live.Spec.HostNetwork && to.Spec.HostNetwork}
	c.objects(field.NewPath("spec", "template"), "template", before, after)
	return c.paths, nil
}

// tree is a template without what a Deployment ignores, and without the
// deprecated serviceAccount, which a server keeps equal to serviceAccountName.
func tree(t *corev1.PodTemplateSpec) (map[string]any, error) {
	spec := t.Spec
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = ""
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations}, Spec: spec,
	})
}

type comparison struct {
	filled      map[string]any
	hostNetwork bool
	paths       []string
}

func (c *comparison) add(path *field.Path, how string) { c.paths = append(c.paths, path.String()+how) }

// objects compares two objects under the same name. An item of a list has the
// name of the list.
func (c *comparison) objects(path *field.Path, name string, live, to map[string]any) {
	for _, key := range union(live, to) {
		at := path.Key(key)
		if !strings.ContainsAny(key, "./-") { // a field, not a label
			at = path.Child(key)
		}
		l, r := live[key], to[key]
		switch {
		case l == nil && r == nil:
		case l == nil:
			if !reflect.DeepEqual(r, c.fallback(name, key, live)) {
				c.add(at, " (added)")
			}
		case r == nil:
			if !reflect.DeepEqual(l, c.fallback(name, key, to)) {
				c.add(at, " (dropped)")
			}
		default:
			c.values(at, name, key, l, r)
		}
	}
}

func (c *comparison) values(path *field.Path, parent, name string, live, to any) {
	switch l := live.(type) {
	case map[string]any:
		if r, ok := to.(map[string]any); ok {
			c.objects(path, name, l, r)
			return
		}
	case []any:
		if r, ok := to.([]any); ok {
			c.lists(path, name, l, r)
			return
		}
	}
	if live != to && (!isQuantity(parent, name) || !sameQuantity(live, to)) {
		c.add(path, "")
	}
}

// lists compares by key where Kubernetes merges by it, and otherwise by
// position. Containers start in their order, and a variable may refer to one
// before it.
func (c *comparison) lists(path *field.Path, name string, live, to []any) {
	before, order, ok := byKey(name, live)
	after, reordered, also := byKey(name, to)
	if !ok || !also {
		for i := range max(len(live), len(to)) {
			switch {
			case i >= len(live):
				c.add(path.Index(i), " (added)")
			case i >= len(to):
				c.add(path.Index(i), " (dropped)")
			default:
				c.values(path.Index(i), name, "", live[i], to[i])
			}
		}
		return
	}
	for _, key := range union(before, after) {
		switch l, r := before[key], after[key]; {
		case l == nil:
			c.add(path.Key(key), " (added)")
		case r == nil:
			c.add(path.Key(key), " (dropped)")
		default:
			c.objects(path.Key(key), name, l, r)
		}
	}
	order = slices.DeleteFunc(order, func(key string) bool { return after[key] == nil })
	reordered = slices.DeleteFunc(reordered, func(key string) bool { return before[key] == nil })
	if slices.Contains([]string{"containers", "initContainers", "env"}, name) && !slices.Equal(order, reordered) {
		c.add(path, " (in another order)")
	}
}

// byKey is a list by the names of its items, in their order, or false where
// they have none, or one twice.
func byKey(list string, items []any) (byName map[string]map[string]any, order []string, ok bool) {
	byName = make(map[string]map[string]any, len(items))
	for i := range items {
		item, isObject := items[i].(map[string]any)
		name := itemName(list, item)
		if !isObject || name == "" || byName[name] != nil {
			return nil, nil, false
		}
		byName[name] = item
		order = append(order, name)
	}
	return byName, order, true
}

func isQuantity(parent, name string) bool {
	return name == "sizeLimit" || slices.Contains([]string{"limits", "requests", "overhead"}, parent)
}

// sameQuantity: a server writes 1Gi for 1024Mi, and rounds up what is less than
// a thousandth (SetDefaults_ResourceList).
func sameQuantity(live, to any) bool {
	a, _ := live.(string)
	b, _ := to.(string)
	l, err := resource.ParseQuantity(a)
	r, also := resource.ParseQuantity(b)
	if err != nil || also != nil {
		return false
	}
	l.RoundUp(resource.Milli)
	r.RoundUp(resource.Milli)
	return l.Cmp(r) == 0
}

func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
