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

// Validate reports the errors of a Rollout. It finds the mistakes that the
// controller reports later and one at a time (upstream: validation.go of
// v1.10.1), and those that it accepts and cannot carry out, such as a pause of
// 500ms, which it cuts to none. The errors name real paths, such as
// spec.strategy.canary.steps[0].setWeight, and the accepted values. Nil means
// none. A legal Rollout that tests nothing passes: see [Rollout.Warnings].
//
// obj is a *Rollout or an *unstructured.Unstructured. In the latter an unknown
// field and a wrong type are errors too, and a status is ignored. Anything
// else, including nil, is an error. Unknown fields are not looked for in what
// the types of this package carry as a map, such as [Step].Analysis.
//
// Validate checks what this package builds: metadata, the selector, the
// workload, the numbers and a canary without trafficRouting. Of a pod template
// it checks the labels, the annotations, that there are containers with images,
// and the restartPolicy. It does not check trafficRouting, experiments or
// blue-green beyond their types. Package live asks the cluster for the rest:
// Preflight has the server judge the pod template, References looks for what
// the Rollout names.
func Validate(obj runtime.Object) field.ErrorList {
	switch o := obj.(type) {
	case *Rollout:
		if o != nil {
			return o.check(nil).errs
		}
	case *unstructured.Unstructured:
		if o != nil {
			r, unread := parse(o.Object, false)
			return follow(unread, r.check(unread).errs)
		}
	case nil:
	default:
		return field.ErrorList{field.NotSupported(field.NewPath("kind"), fmt.Sprintf("%T", obj),
			[]string{"*rollout.Rollout", "*unstructured.Unstructured"})}
	}
	return field.ErrorList{field.Required(field.NewPath("rollout"), "obj is nil; pass a *rollout.Rollout or an *unstructured.Unstructured")}
}

// Warnings reports the legal parts of r that defeat a canary: no steps, a pause
// of no time or with no pod of the new version, a weight of 0 or 100, or no
// step that waits. The controller carries such a Rollout out.
// [Convert] refuses to make one. Of a nil r there are none.
func (r *Rollout) Warnings() field.ErrorList {
	if r == nil {
		return nil
	}
	return r.check(nil).warnings
}

// check is given the fields that could not be read, so that it does not call
// them missing.
func (r *Rollout) check(unread field.ErrorList) problems {
	p := problems{unread: unread}
	p.identity(r)
	p.numbers(&r.Spec)
	p.workload(&r.Spec)
	switch s := &r.Spec.Strategy; {
	case s.Canary != nil && s.BlueGreen != nil:
		p.add(field.Forbidden(at("strategy", "blueGreen"), "a Rollout is either a canary or blue-green"))
	case s.Canary != nil:
		p.canary(r)
	case s.BlueGreen != nil: // carried
	default:
		p.add(field.Required(at("strategy", "canary"), "the safe canary has the steps setWeight: 20 and pause: {}"))
	}
	return p
}

// problems collects errors and warnings. Paths are built only for those, since
// most Rollouts are right.
type problems struct{ errs, warnings, unread field.ErrorList }

func (p *problems) add(e *field.Error) { p.errs = append(p.errs, e) }

func (p *problems) warn(e *field.Error) { p.warnings = append(p.warnings, e) }

func at(names ...string) *field.Path { return field.NewPath("spec", names...) }

// identity checks what every object has. A ReplicaSet is named after its
// Rollout with a hyphen and a hash of up to 10 characters, which leaves 242 for
// the name.
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
		p.add(field.Required(field.NewPath("metadata", "name"), "a name is required"))
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
