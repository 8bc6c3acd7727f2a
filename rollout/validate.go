// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
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
// the restartPolicy, and what a Deployment may have twice and a Rollout may
// not: a port, a variable, a host alias, a pull secret. It does not check
// trafficRouting, experiments, plugins, antiAffinity or blue-green beyond their
// types. Package live asks the cluster for the rest: Preflight has the server
// judge the pod template, References looks for what the Rollout names.
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
	return field.ErrorList{field.Required(field.NewPath("rollout"),
		"obj is nil; pass a *rollout.Rollout or an *unstructured.Unstructured")}
}

// Warnings reports the legal parts of r that defeat a canary: no steps, a pause
// of no time or with no pod of the new version, a weight of 0, a weight of 100
// before the last step, no step that waits, or a scheduling rule by the label
// pod-template-hash, which these pods do not have. The controller carries such
// a Rollout out.
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
	s := &r.Spec.Strategy
	switch {
	case s.Canary != nil && s.BlueGreen != nil:
		p.add(field.Forbidden(at("strategy", "blueGreen"), "a Rollout is either a canary or blue-green"))
	case s.Canary != nil:
		p.canary(r)
	case s.BlueGreen == nil:
		path := at("strategy", "canary")
		p.add(field.Required(path, "the safe canary has the steps setWeight: 20 and pause: {}"))
	}
	return p
}

// problems collects errors and warnings.
type problems struct{ errs, warnings, unread field.ErrorList }

func (p *problems) add(e *field.Error) { p.errs = append(p.errs, e) }

func (p *problems) warn(e *field.Error) { p.warnings = append(p.warnings, e) }

// invalid adds what a check of apimachinery says.
func (p *problems) invalid(path *field.Path, value string, details []string) {
	for _, detail := range details {
		p.add(field.Invalid(path, value, detail))
	}
}

func at(names ...string) *field.Path { return field.NewPath("spec", names...) }

// identity checks what every object has. A ReplicaSet is named after its
// Rollout with a hyphen and a hash of up to 10 characters, which leaves 242 for
// the name.
func (p *problems) identity(r *Rollout) {
	const longest = validation.DNS1123SubdomainMaxLength - 11
	named := r.APIVersion != "" || r.Kind != ""
	if named && r.APIVersion != apiVersion {
		p.add(field.NotSupported(field.NewPath("apiVersion"), r.APIVersion, []string{apiVersion}))
	}
	if named && r.Kind != kind {
		p.add(field.NotSupported(field.NewPath("kind"), r.Kind, []string{kind}))
	}
	meta := field.NewPath("metadata")
	switch {
	case r.Name != "":
		p.invalid(meta.Child("name"), r.Name, validation.IsDNS1123Subdomain(r.Name))
	case r.GenerateName == "":
		p.add(field.Required(meta.Child("name"), "a name is required"))
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
