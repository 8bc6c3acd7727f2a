// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ownLabels are put on pods by the controllers of Rollouts and Deployments,
// each to tell its ReplicaSets apart.
func ownLabels() []string { return []string{"rollouts-pod-template-hash", "pod-template-hash"} }

const ownLabel = "a controller puts it on its pods by itself; remove it"

// selector checks a selector by the rules of ReplicaSets. Some mistakes in it
// are worse than refused: of an operator that does not exist or does not fit
// its values, a value of more than 63 characters and the controller's own
// label, the status never tells.
func (p *problems) selector(s *metav1.LabelSelector) {
	path := at("selector")
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		p.add(field.Required(path, "an empty one would select every pod of the namespace"))
	}
	p.podLabels(s.MatchLabels, path.Child("matchLabels"))
	for i, r := range s.MatchExpressions {
		p.requirement(r, path.Child("matchExpressions").Index(i))
	}
}

func (p *problems) requirement(r metav1.LabelSelectorRequirement, path *field.Path) {
	if slices.Contains(ownLabels(), r.Key) {
		p.add(field.Forbidden(path.Child("key"), ownLabel))
	}
	var strict metavalidation.LabelSelectorValidationOptions
	for _, e := range metavalidation.ValidateLabelSelectorRequirement(r, strict, path) {
		if e.Field == path.Child("operator").String() {
			e.Detail = "must be In, NotIn, Exists or DoesNotExist"
		}
		p.add(e)
	}
}

// podLabels checks labels that pods have, or that a selector looks for.
func (p *problems) podLabels(labels map[string]string, path *field.Path) {
	p.labels(labels, path)
	for _, key := range ownLabels() {
		if _, ok := labels[key]; ok {
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

// annotations checks keys and the size of all together (apimachinery:
// ValidateAnnotations). Values may be secret.
func (p *problems) annotations(annotations map[string]string, path *field.Path) {
	const most = 256 << 10
	size := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		size += len(key) + len(annotations[key])
		p.invalid(path.Key(key), key, validation.IsQualifiedName(strings.ToLower(key)))
	}
	if size > most {
		p.add(field.TooLong(path, field.OmitValueType{}, most))
	}
}

// podMetadata checks canaryMetadata and stableMetadata. The controller puts
// them on the pods of one version.
func (p *problems) podMetadata(r *Rollout) {
	c := r.Spec.Strategy.Canary
	for _, carried := range []struct {
		name string
		tree map[string]any
	}{{"canaryMetadata", c.CanaryMetadata}, {"stableMetadata", c.StableMetadata}} {
		path := inCanary(carried.name)
		var meta struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		}
		if !p.read(carried.tree, &meta, path) {
			continue
		}
		p.podLabels(meta.Labels, path.Child("labels"))
		p.annotations(meta.Annotations, path.Child("annotations"))
		p.stillSelected(&r.Spec, meta.Labels, path.Child("labels"))
	}
}

// stillSelected refuses labels that take pods away from their ReplicaSet. The
// API server refuses such a ReplicaSet.
func (p *problems) stillSelected(s *Spec, added map[string]string, path *field.Path) {
	if s.Selector == nil || s.Template == nil {
		return
	}
	before := s.Template.Labels
	after := map[string]string{}
	maps.Copy(after, before)
	maps.Copy(after, added)
	if unmatched(s.Selector, before) == "" {
		p.mustMatch(s.Selector, after, path)
	}
}

// mustMatch: a selector that misses the pods would make a Rollout that never
// finds them.
func (p *problems) mustMatch(s *metav1.LabelSelector, labels map[string]string, path *field.Path) {
	if detail := unmatched(s, labels); detail != "" {
		p.add(field.Invalid(path, labels, detail))
	}
}

// unmatched is empty if the labels match, and for a selector that cannot be
// read.
func unmatched(s *metav1.LabelSelector, labels map[string]string) string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || selector.Matches(k8slabels.Set(labels)) {
		return ""
	}
	return "must match spec.selector, which is " + selector.String()
}
