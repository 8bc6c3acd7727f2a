// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
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
//	func(
//		ctx context.Context, gvr schema.GroupVersionResource, namespace, name string,
//	) (*unstructured.Unstructured, error) {
//		return dyn.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
//	}
type Get func(
	ctx context.Context, resource schema.GroupVersionResource, namespace, name string,
) (*unstructured.Unstructured, error)

// References reports, with its path, each reference of r to an object that the
// cluster lacks, or that the controller cannot use:
//   - the workload of workloadRef;
//   - Services: r's pods must have each label that they select. A label of
//     stableMetadata counts for the stableService, as it does for the
//     controller after v1.10.1;
//   - AnalysisTemplates of steps, of background analyses and of blue-green, and
//     the templates that they name: each argument must be declared, and have
//     one value; a metric and a rule for a metric must be there once;
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
func References(
	ctx context.Context, r *rollout.Rollout, get Get, controllerNamespace string,
) field.ErrorList {
	switch {
	case r == nil:
		path := field.NewPath("rollout")
		return field.ErrorList{field.Required(path, "r is nil; pass a *rollout.Rollout")}
	case get == nil:
		err := errors.New("the function that reads objects is nil")
		return field.ErrorList{field.InternalError(field.NewPath("rollout"), err)}
	case r.Namespace == "":
		path := field.NewPath("metadata", "namespace")
		return field.ErrorList{field.Required(path, "what a Rollout refers to is in its own")}
	}
	u, err := r.Unstructured()
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	l := &lookup{
		get:        get,
		rollout:    u,
		controller: cmp.Or(controllerNamespace, "argo-rollouts"),
		read:       map[string]answer{},
	}
	l.workload(ctx, r)
	strategy := object(object(u.Object["spec"])["strategy"])
	path := field.NewPath("spec", "strategy")
	l.canary(ctx, object(strategy["canary"]), path.Child("canary"))
	l.blueGreen(ctx, object(strategy["blueGreen"]), path.Child("blueGreen"))
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

func (l *lookup) invalid(path *field.Path, value, format string, args ...any) {
	l.add(field.Invalid(path, value, fmt.Sprintf(format, args...)))
}

// workload looks for the object that has the pod template, and tells what the
// pods' labels are.
func (l *lookup) workload(ctx context.Context, r *rollout.Rollout) {
	ref := r.Spec.WorkloadRef
	if ref == nil {
		if r.Spec.Template != nil {
			// Without any they do not match their selector, as Validate says.
			l.pods = r.Spec.Template.Labels
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
	if r.Spec.Selector == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(r.Spec.Selector)
	if err == nil && !selector.Matches(labels.Set(l.pods)) {
		l.invalid(path, ref.Name, "the pods of this %s must match spec.selector, which is %s; "+
			"leave spec.selector out to take its own", ref.Kind, selector)
	}
}

func (l *lookup) blueGreen(ctx context.Context, blueGreen map[string]any, path *field.Path) {
	l.services(ctx, blueGreen, path, "activeService", "previewService")
	for _, name := range []string{"prePromotionAnalysis", "postPromotionAnalysis"} {
		l.analysis(ctx, object(blueGreen[name]), path.Child(name), true)
	}
}

func (l *lookup) canary(ctx context.Context, canary map[string]any, path *field.Path) {
	l.services(ctx, canary, path, "stableService", "canaryService")
	l.services(ctx, object(canary["pingPong"]), path.Child("pingPong"), "pingService", "pongService")
	l.analysis(ctx, object(canary["analysis"]), path.Child("analysis"), false)
	for i, s := range list(canary["steps"]) {
		step := object(s)
		path := path.Child("steps").Index(i)
		l.analysis(ctx, object(step["analysis"]), path.Child("analysis"), true)
		for j, a := range list(object(step["experiment"])["analyses"]) {
			at := path.Child("experiment", "analyses").Index(j).Child("templateName")
			l.templates(ctx, []any{a}, []*field.Path{at})
		}
		name := text(object(step["plugin"])["name"])
		if name != "" {
			l.plugin(ctx, path.Child("plugin", "name"), name)
		}
	}
}

// services: the controller adds its label to the selector of each. It refuses a
// Service that selects what the Rollout's pods do not have, or that belongs to
// another Rollout.
func (l *lookup) services(ctx context.Context, of map[string]any, path *field.Path, names ...string) {
	for _, key := range names {
		name := text(of[key])
		if name == "" {
			continue
		}
		path := path.Child(key)
		service := l.find(ctx, path, "Service", name)
		if service == nil {
			continue
		}
		owner := service.GetAnnotations()["argo-rollouts.argoproj.io/managed-by-rollouts"]
		if owner != "" && owner != l.rollout.GetName() {
			l.invalid(path, name, "Rollout %s has this Service; each needs its own", owner)
		}
		var added map[string]any
		if key == "stableService" {
			added = object(object(of["stableMetadata"])["labels"])
		}
		l.selects(service, added, path)
	}
}

// selects compares the selector of a Service with the labels of the pods. Added
// has the labels of stableMetadata, which releases after v1.10.1 count too.
func (l *lookup) selects(service *unstructured.Unstructured, added map[string]any, path *field.Path) {
	if l.pods == nil {
		return
	}
	selector := object(object(service.Object["spec"])["selector"])
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		want := text(selector[key])
		got, ok := l.pods[key]
		fits := ok && got == want
		if fits || text(added[key]) == want || key == "rollouts-pod-template-hash" {
			continue
		}
		l.invalid(path, service.GetName(), "the Service selects %s=%s, and the pods' labels do not have it; "+
			"make the selector the Rollout's", key, want)
	}
}
