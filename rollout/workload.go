// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// workload checks where the pods come from.
func (p *problems) workload(s *Spec) {
	if ref := s.WorkloadRef; ref != nil {
		if s.Template != nil {
			p.add(field.Forbidden(at("template"), "the workload of workloadRef has the template"))
		}
		switch {
		case s.Selector != nil:
			p.selector(s.Selector)
		case ref.Kind == "PodTemplate":
			p.add(field.Required(at("selector"), "a PodTemplate has none that could be taken"))
		}
		p.reference(ref)
		return
	}
	if s.Selector == nil {
		p.add(field.Required(at("selector"), "set the labels of the Rollout's pods"))
	} else {
		p.selector(s.Selector)
	}
	if s.Template == nil {
		p.add(field.Required(at("template"), "set the pod template, or a workloadRef"))
		return
	}
	if p.template(s.Template); s.Selector != nil {
		p.matches(s.Selector, s.Template.Labels)
	}
}

func (p *problems) reference(ref *WorkloadRef) {
	kinds := []string{"Deployment", "ReplicaSet", "PodTemplate"}
	switch {
	case !slices.Contains(kinds, ref.Kind):
		p.add(field.NotSupported(at("workloadRef", "kind"), ref.Kind, kinds))
	case ref.Kind == "PodTemplate" && ref.APIVersion != "v1":
		p.add(field.NotSupported(at("workloadRef", "apiVersion"), ref.APIVersion, []string{"v1"}))
	case ref.Kind != "PodTemplate" && ref.APIVersion != "apps/v1":
		p.add(field.NotSupported(at("workloadRef", "apiVersion"), ref.APIVersion, []string{"apps/v1"}))
	}
	for _, msg := range dnsName(ref.Name) {
		p.add(field.Invalid(at("workloadRef", "name"), ref.Name, msg))
	}
	if downs := []string{"never", "onsuccess", "progressively"}; ref.ScaleDown != "" && !slices.Contains(downs, ref.ScaleDown) {
		p.add(field.NotSupported(at("workloadRef", "scaleDown"), ref.ScaleDown, downs))
	}
}

// matches: a selector that misses the template would make a Rollout that never
// finds its own pods.
func (p *problems) matches(s *metav1.LabelSelector, labels map[string]string) {
	path := func() *field.Path { return at("template", "metadata", "labels") }
	for _, key := range wrong(s.MatchLabels, func(key, value string) bool {
		got, ok := labels[key]
		return ok && got == value
	}) {
		p.add(field.Invalid(path(), labels, fmt.Sprintf("must have %s=%s, as spec.selector does", key, s.MatchLabels[key])))
	}
	if len(s.MatchExpressions) == 0 {
		return
	}
	rest, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: s.MatchExpressions})
	if err == nil && !rest.Matches(k8slabels.Set(labels)) {
		p.add(field.Invalid(path(), labels, "must match spec.selector.matchExpressions: "+rest.String()))
	}
}
