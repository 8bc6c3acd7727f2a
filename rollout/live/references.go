// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
)

// Get reads one object. The namespace is empty for an object of the cluster.
// With a dynamic client of client-go it is
//
//	func(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
//		return dyn.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
//	}
type Get func(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error)

// References reports, with its path, each reference of r to an object that the
// cluster lacks, or that the controller cannot use:
//   - the workload of workloadRef;
//   - Services, which must select r's pods;
//   - AnalysisTemplates of steps, of background analyses and of blue-green, and
//     the templates that they name;
//   - step plugins, which the ConfigMap argo-rollouts-config of the
//     controller's namespace lists: controllerNamespace, or argo-rollouts if it
//     is empty.
//
// The type of each error says what is known:
//   - field.ErrorTypeNotFound: the object does not exist;
//   - field.ErrorTypeInvalid: it exists and does not fit;
//   - field.ErrorTypeForbidden: you have no right to read it;
//   - field.ErrorTypeInternal: not known, because the server did not answer, or
//     because 100 objects were read before;
//   - field.ErrorTypeRequired: r is nil or has no namespace.
//
// Nil means that every object exists and fits.
//
// Each object is read once, nothing is listed, and at most 100 objects are
// read. What [rollout.Validate] sees, such as a workloadRef of a kind that
// cannot be, is not said again. Objects of traffic routers are not looked at.
func References(ctx context.Context, r *rollout.Rollout, get Get, controllerNamespace string) field.ErrorList {
	switch {
	case r == nil:
		return field.ErrorList{field.Required(field.NewPath("rollout"), "r is nil; pass a *rollout.Rollout")}
	case get == nil:
		return field.ErrorList{field.InternalError(field.NewPath("rollout"), errors.New("the function that reads objects is nil"))}
	case r.Namespace == "":
		return field.ErrorList{field.Required(field.NewPath("metadata", "namespace"), "what a Rollout refers to is in its own")}
	}
	u, err := r.Unstructured()
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	if controllerNamespace == "" {
		controllerNamespace = "argo-rollouts"
	}
	l := &lookup{get: get, rollout: u, controller: controllerNamespace, read: map[string]answer{}}
	l.workload(ctx, r)
	strategy, path := object(object(u.Object["spec"])["strategy"]), field.NewPath("spec", "strategy")
	l.canary(ctx, object(strategy["canary"]), path.Child("canary"))
	blueGreen, path := object(strategy["blueGreen"]), path.Child("blueGreen")
	l.services(ctx, blueGreen, path, "activeService", "previewService")
	for _, name := range []string{"prePromotionAnalysis", "postPromotionAnalysis"} {
		l.analysis(ctx, object(blueGreen[name]), path.Child(name), true)
	}
	return l.errs
}

// lookup is one call of References.
type lookup struct {
	get        Get
	rollout    *unstructured.Unstructured
	controller string // its namespace
	read       map[string]answer
	pods       map[string]string // the labels of the Rollout's pods; nil while they are not known
	errs       field.ErrorList
}

type answer struct {
	obj *unstructured.Unstructured
	err error
}

func (l *lookup) add(e *field.Error) { l.errs = append(l.errs, e) }

// workload looks for the object that has the pod template, and tells what the
// pods' labels are.
func (l *lookup) workload(ctx context.Context, r *rollout.Rollout) {
	ref := r.Spec.WorkloadRef
	if ref == nil {
		if r.Spec.Template != nil {
			l.pods = r.Spec.Template.Labels // a template without any does not match its selector, as Validate says
		}
		return
	}
	path := field.NewPath("spec", "workloadRef", "name")
	if !slices.Contains([]string{"Deployment", "ReplicaSet", "PodTemplate"}, ref.Kind) {
		return // an error of Validate
	}
	obj := l.find(ctx, path, ref.Kind, ref.Name)
	if obj == nil {
		return
	}
	template := object(obj.Object["template"])
	if ref.Kind != "PodTemplate" {
		template = object(object(obj.Object["spec"])["template"])
	}
	l.pods = map[string]string{}
	for key, value := range object(object(template["metadata"])["labels"]) {
		l.pods[key] = text(value)
	}
	selector, err := metav1.LabelSelectorAsSelector(r.Spec.Selector)
	if r.Spec.Selector != nil && err == nil && !selector.Matches(labels.Set(l.pods)) {
		l.add(field.Invalid(path, ref.Name, fmt.Sprintf("the pods of this %s must match spec.selector, which is %s; leave spec.selector out to take its own", ref.Kind, selector)))
	}
}

func (l *lookup) canary(ctx context.Context, canary map[string]any, path *field.Path) {
	l.services(ctx, canary, path, "stableService", "canaryService")
	l.services(ctx, object(canary["pingPong"]), path.Child("pingPong"), "pingService", "pongService")
	l.analysis(ctx, object(canary["analysis"]), path.Child("analysis"), false)
	for i, s := range list(canary["steps"]) {
		step, path := object(s), path.Child("steps").Index(i)
		l.analysis(ctx, object(step["analysis"]), path.Child("analysis"), true)
		for j, a := range list(object(step["experiment"])["analyses"]) {
			l.template(ctx, object(a), path.Child("experiment", "analyses").Index(j).Child("templateName"), false)
		}
		if name := text(object(step["plugin"])["name"]); name != "" {
			l.plugin(ctx, path.Child("plugin", "name"), name)
		}
	}
}

// services: the controller adds its own label to the selector of each, and
// refuses a Service that does not select the Rollout's pods or belongs to
// another Rollout.
func (l *lookup) services(ctx context.Context, of map[string]any, path *field.Path, names ...string) {
	for _, key := range names {
		name, path := text(of[key]), path.Child(key)
		if name == "" {
			continue
		}
		service := l.find(ctx, path, "Service", name)
		if service == nil {
			continue
		}
		if owner := service.GetAnnotations()["argo-rollouts.argoproj.io/managed-by-rollouts"]; owner != "" && owner != l.rollout.GetName() {
			l.add(field.Invalid(path, name, fmt.Sprintf("Rollout %s has this Service; each needs its own", owner)))
		}
		selector, selects := object(object(service.Object["spec"])["selector"]), false
		for _, key := range slices.Sorted(maps.Keys(selector)) {
			if key == "rollouts-pod-template-hash" {
				continue
			}
			selects = true
			if got, ok := l.pods[key]; l.pods != nil && (!ok || got != text(selector[key])) {
				l.add(field.Invalid(path, name, fmt.Sprintf("the Service selects %s=%s, and the pods' labels do not have it; make the selector the Rollout's", key, text(selector[key]))))
			}
		}
		if !selects {
			l.add(field.Invalid(path, name, "the Service has no selector; give it the Rollout's"))
		}
	}
}
