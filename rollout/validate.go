// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Warnings reports the legal parts of r that defeat a canary: no steps, a pause
// of no time or with no pod of the new version, a weight of 0, a weight of 100
// before the last step, no step that waits, or a scheduling rule by the label
// pod-template-hash, which these pods do not have. The controller carries such
// a Rollout out. [Convert] refuses to make one. Of a nil r there are none.
func (r *Rollout) Warnings() field.ErrorList {
	if r == nil {
		return nil
	}
	return r.check().warnings
}

// problems collects errors and warnings.
type problems struct{ errs, warnings field.ErrorList }

func (p *problems) add(e *field.Error) { p.errs = append(p.errs, e) }

func (p *problems) warn(e *field.Error) { p.warnings = append(p.warnings, e) }

// invalid adds what a check of apimachinery says.
func (p *problems) invalid(path *field.Path, value string, details []string) {
	for _, detail := range details {
		p.add(field.Invalid(path, value, detail))
	}
}

func at(names ...string) *field.Path { return field.NewPath("spec", names...) }

func (r *Rollout) check() problems {
	var p problems
	p.identity(r)
	p.numbers(&r.Spec)
	p.workload(&r.Spec)
	if r.Spec.Strategy.Canary != nil {
		p.canary(r)
	} else {
		path := at("strategy", "canary")
		p.add(field.Required(path, "the safe canary has the steps setWeight: 20 and pause: {}"))
	}
	return p
}

// identity checks what every object has. A ReplicaSet is named after its
// Rollout with a hyphen and a hash of up to 10 characters, which leaves 242 for
// the name.
func (p *problems) identity(r *Rollout) {
	const longest = validation.DNS1123SubdomainMaxLength - 11
	meta := field.NewPath("metadata")
	if r.Name == "" {
		p.add(field.Required(meta.Child("name"), "a name is required"))
	} else {
		p.invalid(meta.Child("name"), r.Name, validation.IsDNS1123Subdomain(r.Name))
	}
	if len(r.Name) > longest {
		p.add(field.TooLong(meta.Child("name"), r.Name, longest))
	}
	if r.Namespace != "" {
		p.invalid(meta.Child("namespace"), r.Namespace, validation.IsDNS1123Label(r.Namespace))
	}
	p.labels(r.Labels, meta.Child("labels"))
	p.annotations(r.Annotations, meta.Child("annotations"))
}

func (p *problems) numbers(s *Spec) {
	least := func(name string, value int32) {
		if value < 0 {
			p.add(field.Invalid(at(name), value, "must be at least 0"))
		}
	}
	least("replicas", ptr.Deref(s.Replicas, 1))
	least("minReadySeconds", s.MinReadySeconds)
	least("revisionHistoryLimit", ptr.Deref(s.RevisionHistoryLimit, 10))
	deadline := ptr.Deref(s.ProgressDeadlineSeconds, 600)
	if deadline <= max(s.MinReadySeconds, 0) {
		p.add(field.Invalid(at("progressDeadlineSeconds"), deadline, fmt.Sprintf(
			"must be greater than minReadySeconds, which is %d, or no pod is ready in time",
			s.MinReadySeconds)))
	}
}

// workload checks which pods there are.
func (p *problems) workload(s *Spec) {
	if s.Selector == nil {
		p.add(field.Required(at("selector"), "set the labels of the Rollout's pods"))
	} else {
		p.selector(s.Selector)
	}
	if s.Template == nil {
		p.add(field.Required(at("template"), "set the pod template"))
		return
	}
	p.template(s.Template)
	if s.Selector != nil {
		p.mustMatch(s.Selector, s.Template.Labels, at("template", "metadata", "labels"))
	}
}

// selector checks a selector by the rules of ReplicaSets. Of an operator that
// does not exist, and of the controller's own label, the status never says
// anything.
func (p *problems) selector(s *metav1.LabelSelector) {
	path := at("selector")
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		p.add(field.Required(path, "an empty one would select every pod of the namespace"))
	}
	p.podLabels(s.MatchLabels, path.Child("matchLabels"))
	var strict metavalidation.LabelSelectorValidationOptions
	for i, r := range s.MatchExpressions {
		at := path.Child("matchExpressions").Index(i)
		if slices.Contains(ownLabels(), r.Key) {
			p.add(field.Forbidden(at.Child("key"), ownLabel))
		}
		p.errs = append(p.errs, metavalidation.ValidateLabelSelectorRequirement(r, strict, at)...)
	}
}

// ownLabels are put on pods by the controllers of Rollouts and Deployments,
// each to tell its ReplicaSets apart.
func ownLabels() []string { return []string{"rollouts-pod-template-hash", "pod-template-hash"} }

const ownLabel = "a controller puts it on its pods by itself; remove it"

// podLabels checks labels that pods have, or that a selector looks for.
func (p *problems) podLabels(labels map[string]string, path *field.Path) {
	p.labels(labels, path)
	for _, key := range ownLabels() {
		_, ok := labels[key]
		if ok {
			p.add(field.Forbidden(path.Key(key), ownLabel))
		}
	}
}

func (p *problems) labels(labels map[string]string, path *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		p.invalid(path.Key(key), key, validation.IsQualifiedName(key))
		p.invalid(path.Key(key), labels[key], validation.IsValidLabelValue(labels[key]))
	}
}

func (p *problems) annotations(annotations map[string]string, path *field.Path) {
	p.errs = append(p.errs, apivalidation.ValidateAnnotations(annotations, path)...)
}

// podMetadata checks canaryMetadata and stableMetadata. The controller puts
// them on the pods of one version.
func (p *problems) podMetadata(r *Rollout, name string, tree map[string]any) {
	path := inCanary(name)
	var meta struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
	if !p.read(tree, &meta, path) {
		return
	}
	p.podLabels(meta.Labels, path.Child("labels"))
	p.annotations(meta.Annotations, path.Child("annotations"))
	selector := r.Spec.Selector
	if selector == nil || r.Spec.Template == nil {
		return
	}
	// The API server refuses a ReplicaSet that does not select its pods.
	labels := map[string]string{}
	maps.Copy(labels, r.Spec.Template.Labels)
	maps.Copy(labels, meta.Labels)
	p.mustMatch(selector, labels, path.Child("labels"))
}

// mustMatch: a selector that misses the pods would make a Rollout that never
// finds them.
func (p *problems) mustMatch(s *metav1.LabelSelector, labels map[string]string, path *field.Path) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err == nil && !selector.Matches(k8slabels.Set(labels)) {
		p.add(field.Invalid(path, labels, "must match spec.selector, which is "+selector.String()))
	}
}
