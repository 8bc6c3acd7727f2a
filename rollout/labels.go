// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ownLabels are put on pods by the controllers of Rollouts and Deployments,
// each to tell its ReplicaSets apart.
func ownLabels() []string { return []string{"rollouts-pod-template-hash", "pod-template-hash"} }

// selector checks a selector by the rules of ReplicaSets. Some mistakes in it
// are worse than refused: of an operator that does not exist or does not fit
// its values, a value of more than 63 characters and the controller's own
// label, the status never tells.
func (p *problems) selector(s *metav1.LabelSelector) {
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		p.add(field.Required(at("selector"), "an empty one would select every pod of the namespace"))
	}
	p.labels(s.MatchLabels, "spec", "selector", "matchLabels")
	p.noOwnLabels(s.MatchLabels, "selector", "matchLabels")
	for i := range s.MatchExpressions {
		p.requirement(&s.MatchExpressions[i], at("selector", "matchExpressions").Index(i))
	}
}

func (p *problems) requirement(r *metav1.LabelSelectorRequirement, path *field.Path) {
	switch r.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(r.Values) == 0 {
			p.add(field.Required(path.Child("values"), "the operators In and NotIn have some"))
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			p.add(field.Forbidden(path.Child("values"), "the operators Exists and DoesNotExist have none"))
		}
	default:
		p.add(field.NotSupported(path.Child("operator"), r.Operator, []metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
		}))
	}
	for _, msg := range qualifiedName(r.Key) {
		p.add(field.Invalid(path.Child("key"), r.Key, msg))
	}
	if slices.Contains(ownLabels(), r.Key) {
		p.add(field.Forbidden(path.Child("key"), ownLabel))
	}
	for i, v := range r.Values {
		for _, msg := range labelValue(v) {
			p.add(field.Invalid(path.Child("values").Index(i), v, msg))
		}
	}
}

const ownLabel = "a controller puts it on its pods by itself; remove it"

func (p *problems) noOwnLabels(labels map[string]string, path ...string) {
	for _, key := range ownLabels() {
		if _, ok := labels[key]; ok {
			p.add(field.Forbidden(at(path...).Key(key), ownLabel))
		}
	}
}

func (p *problems) labels(labels map[string]string, path ...string) {
	for _, key := range wrong(labels, func(key, value string) bool {
		return qualifiedName(key) == nil && labelValue(value) == nil
	}) {
		at := field.NewPath(path[0], path[1:]...).Key(key)
		for _, msg := range qualifiedName(key) {
			p.add(field.Invalid(at, key, msg))
		}
		for _, msg := range labelValue(labels[key]) {
			p.add(field.Invalid(at, labels[key], msg))
		}
	}
}

// annotations checks keys and the size of all together (apimachinery:
// ValidateAnnotations).
func (p *problems) annotations(annotations map[string]string, path ...string) {
	const most = 256 << 10
	size := 0
	for _, key := range wrong(annotations, func(key, value string) bool {
		size += len(key) + len(value)
		return annotationName(key) == nil
	}) {
		for _, msg := range annotationName(key) {
			p.add(field.Invalid(field.NewPath(path[0], path[1:]...).Key(key), key, msg))
		}
	}
	if size > most {
		p.add(field.TooLong(field.NewPath(path[0], path[1:]...), field.OmitValueType{}, most))
	}
}

// wrong returns the keys whose values are not right. They are sorted, so that
// errors have an order.
func wrong[K cmp.Ordered, V any](m map[K]V, right func(K, V) bool) []K {
	var keys []K
	for key, value := range m {
		if !right(key, value) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
