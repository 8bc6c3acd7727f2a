// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// workload checks where the pods come from.
func (p *problems) workload(s *Spec) {
	if s.WorkloadRef != nil {
		p.reference(s)
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
	p.template(s.Template)
	if s.Selector != nil {
		p.mustMatch(s.Selector, s.Template.Labels, at("template", "metadata", "labels"))
	}
}

// reference checks a workloadRef. The workload has the template. A Deployment
// and a ReplicaSet have a selector too.
func (p *problems) reference(s *Spec) {
	ref := s.WorkloadRef
	path := at("workloadRef")
	if s.Template != nil {
		p.add(field.Forbidden(at("template"), "the workload of workloadRef has the template"))
	}
	if s.Selector != nil {
		p.selector(s.Selector)
	} else if ref.Kind == "PodTemplate" {
		p.add(field.Required(at("selector"), "a PodTemplate has none that could be taken"))
	}
	versions := map[string]string{"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "PodTemplate": "v1"}
	version, ok := versions[ref.Kind]
	if !ok {
		kinds := []string{"Deployment", "ReplicaSet", "PodTemplate"}
		p.add(field.NotSupported(path.Child("kind"), ref.Kind, kinds))
	} else if ref.APIVersion != version {
		p.add(field.NotSupported(path.Child("apiVersion"), ref.APIVersion, []string{version}))
	}
	p.invalid(path.Child("name"), ref.Name, validation.IsDNS1123Subdomain(ref.Name))
	downs := []string{"never", "onsuccess", "progressively"}
	if ref.ScaleDown != "" && !slices.Contains(downs, ref.ScaleDown) {
		p.add(field.NotSupported(path.Child("scaleDown"), ref.ScaleDown, downs))
	}
}
