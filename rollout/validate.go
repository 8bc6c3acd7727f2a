// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate reports every problem of a Rollout at once, with real paths such as spec.strategy.canary.steps[0].setWeight
// and what is accepted instead: all that the controller would refuse after the fact, one at a time (upstream:
// validation.go of v1.10.1), and what it accepts but cannot carry out, such as a pause at which no pod of the new version, or
// none of the old, would run. Nil means none.
//
// obj is a *Rollout or an *unstructured.Unstructured; in the latter an unknown field and a wrong type are problems too, and a
// status is not looked at. Anything else, nil among it, is an error.
//
// Not seen here: whether services, analysis templates, plugins and referenced workloads exist, as References of package live sees, and
// the rarer fields of a pod. For those, let the server dry-run the Deployment.
func Validate(obj runtime.Object) field.ErrorList {
	switch o := obj.(type) {
	case *Rollout:
		if o != nil {
			return o.validate(nil)
		}
	case *unstructured.Unstructured:
		if o != nil {
			r, errs := parse(o.Object, false)
			return follow(errs, r.validate(errs))
		}
	case nil:
	default:
		return field.ErrorList{field.NotSupported(field.NewPath("kind"), fmt.Sprintf("%T", obj),
			[]string{"*rollout.Rollout", "*unstructured.Unstructured"})}
	}
	return field.ErrorList{field.Required(field.NewPath("rollout"), "there is none to check")}
}

// validate knows of the fields that could not be read, so that nothing is said to be missing because of them.
func (r *Rollout) validate(unread field.ErrorList) field.ErrorList {
	p := problems{unread: unread}
	p.identity(r)
	p.numbers(&r.Spec)
	p.workload(&r.Spec)
	switch s := &r.Spec.Strategy; {
	case s.Canary != nil && s.BlueGreen != nil:
		p.add(field.Forbidden(at("strategy", "blueGreen"), "a Rollout is either a canary or blue-green"))
	case s.Canary != nil:
		p.canary(r)
	case s.BlueGreen != nil:
		p.blueGreen(&r.Spec)
	default:
		p.add(field.Required(at("strategy", "canary"), "the safe canary has the steps setWeight: 20 and pause: {}"))
	}
	return p.errs
}

// problems collects what is wrong. Paths are built only for what is, since most Rollouts are right.
type problems struct{ errs, unread field.ErrorList }

func (p *problems) add(e *field.Error) { p.errs = append(p.errs, e) }

func at(names ...string) *field.Path { return field.NewPath("spec", names...) }

// identity checks what every object has. A ReplicaSet is named after its Rollout with a hyphen and a hash of up to 10
// characters, which leaves 242 for the name.
func (p *problems) identity(r *Rollout) {
	const longest = validation.DNS1123SubdomainMaxLength - 11
	if r.APIVersion != "" || r.Kind != "" {
		if r.APIVersion != apiVersion {
			p.add(field.NotSupported(field.NewPath("apiVersion"), r.APIVersion, []string{apiVersion}))
		}
		if r.Kind != kind {
			p.add(field.NotSupported(field.NewPath("kind"), r.Kind, []string{kind}))
		}
	}
	switch {
	case r.Name == "" && r.GenerateName == "":
		p.add(field.Required(field.NewPath("metadata", "name"), "every Rollout has one"))
	case r.Name != "":
		for _, msg := range dnsName(r.Name) {
			p.add(field.Invalid(field.NewPath("metadata", "name"), r.Name, msg))
		}
		if len(r.Name) > longest {
			p.add(field.TooLong(field.NewPath("metadata", "name"), r.Name, longest))
		}
	}
	if r.Namespace != "" {
		for _, msg := range dnsLabel(r.Namespace) {
			p.add(field.Invalid(field.NewPath("metadata", "namespace"), r.Namespace, msg))
		}
	}
	p.labels(r.Labels, "metadata", "labels")
	p.annotations(r.Annotations, "metadata", "annotations")
}

func (p *problems) numbers(s *Spec) {
	least := func(name string, value, least int32) {
		if value < least {
			p.add(field.Invalid(at(name), value, fmt.Sprintf("must be at least %d", least)))
		}
	}
	deadline, history := int32(600), int32(10)
	if s.ProgressDeadlineSeconds != nil {
		deadline = *s.ProgressDeadlineSeconds
	}
	if s.RevisionHistoryLimit != nil {
		history = *s.RevisionHistoryLimit
	}
	if s.Replicas != nil {
		least("replicas", *s.Replicas, 0)
	}
	least("minReadySeconds", s.MinReadySeconds, 0)
	least("revisionHistoryLimit", history, 0)
	if deadline <= max(s.MinReadySeconds, 0) {
		p.add(field.Invalid(at("progressDeadlineSeconds"), deadline,
			fmt.Sprintf("must be greater than minReadySeconds, which is %d, or no pod is ready in time", s.MinReadySeconds)))
	}
}
