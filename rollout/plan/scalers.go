// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const hpaKind = "HorizontalPodAutoscaler"

// target is a reference to the object that an autoscaler scales.
type target struct {
	field string // of its spec
	ref   map[string]any
}

// targetOf finds the reference, nil if the object has none. KEDA takes a
// missing kind for a Deployment.
func targetOf(u *unstructured.Unstructured) *target {
	for _, name := range []string{"scaleTargetRef", "targetRef"} {
		value, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", name)
		ref, ok := value.(map[string]any)
		if ok {
			return &target{field: name, ref: ref}
		}
	}
	return nil
}

// refers reports whether it is this workload.
func (t *target) refers(kind, name string) bool {
	if t == nil || t.ref["name"] != name {
		return false
	}
	if t.ref["kind"] == nil {
		return kind == deploymentKind
	}
	return t.ref["kind"] == kind
}

func (t *target) refersTo(w *workload) bool { return t.refers(w.gvk.Kind, w.meta.Name) }

// Retarget points an autoscaler of the Deployment or the Rollout of this name
// at the kind to, in place, and reports whether it changed u. It knows
// HorizontalPodAutoscaler, ScaledObject and VerticalPodAutoscaler. An object of
// another kind that scales the Deployment is an error, because it may not know
// Rollouts. Retarget the autoscaler there is: two over the same pods both stop.
func Retarget(u *unstructured.Unstructured, name string, to schema.GroupVersionKind) (bool, error) {
	if u == nil {
		return false, nil
	}
	t := targetOf(u)
	if t.refers(to.Kind, name) {
		return false, nil
	}
	if !t.refers(deploymentKind, name) && !t.refers(rolloutKind, name) {
		return false, nil
	}
	known := []string{hpaKind, "ScaledObject", "VerticalPodAutoscaler"}
	if !slices.Contains(known, u.GetKind()) {
		return false, fmt.Errorf("rollout/plan: retarget: spec.%s: %s %s names the workload "+
			"%s, which becomes a %s; known kinds are %s",
			t.field, u.GetKind(), u.GetName(), name, to.Kind, strings.Join(known, ", "))
	}
	t.ref["apiVersion"] = to.GroupVersion().String()
	t.ref["kind"] = to.Kind
	return true, nil
}

// scaler is the one HorizontalPodAutoscaler of the workload, or nil. Other
// objects that name the workload by its kind are warnings.
func (p *planner) scaler(others []unstructured.Unstructured) *unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for i := range others {
		u := &others[i]
		if u.GetNamespace() != "" && u.GetNamespace() != p.old.meta.Namespace {
			continue
		}
		t := targetOf(u)
		switch {
		case !t.refersTo(p.old) && !t.refersTo(p.new):
		case u.GetKind() == hpaKind:
			found = append(found, u)
		default:
			p.warn("%s %s names the workload by its kind: change spec.%s to %s, or it scales "+
				"nothing after the plan.",
				u.GetKind(), u.GetName(), t.field, p.new)
		}
	}
	if len(found) == 0 {
		return nil
	}
	if len(found) > 1 {
		var names []string
		for _, u := range found {
			names = append(names, u.GetName())
		}
		slices.Sort(names)
		p.add(field.Forbidden(field.NewPath("others"), hpaKind+"s "+strings.Join(names, " and ")+
			" scale the same pods, so both would stop (AmbiguousSelector); keep one"))
	}
	return found[0]
}

// handOver comes when the new workload has its pods and before the old one
// goes: without its target an autoscaler does nothing. KEDA and GitOps tools
// put an old target back within seconds.
func (p *planner) handOver(hpa *unstructured.Unstructured) error {
	object := "hpa/" + hpa.GetName()
	there, err := pointAt(p.new)
	if err != nil {
		return err
	}
	back, err := pointAt(p.old)
	if err != nil {
		return err
	}
	p.do(Op{Verb: patch, Object: object, Body: there}, "Hand the HorizontalPodAutoscaler over")
	p.do(
		Op{Verb: check, Object: object, terms: terms{
			Seconds: 10,
			Fields:  "{.spec.scaleTargetRef.kind} {.spec.scaleTargetRef.name}",
			Want:    p.new.String(),
			Else: "Change scaleTargetRef where its manifest is kept, or stop the tool that resets it. " +
				"Run this again.",
		}},
		"Check that it keeps its target for 10 seconds: other tools put the old one back",
	)
	p.plan.undo = append(p.plan.undo, Op{Verb: patch, Object: object, Body: back})
	p.warn("Change scaleTargetRef of the HorizontalPodAutoscaler %s to %s where its manifest "+
		"is kept too, "+
		"or the next apply puts it back. If that happens while the plan runs, the "+
		"plan stops.", hpa.GetName(), p.new.gvk.Kind)
	return nil
}

// pointAt is the patch that makes an autoscaler scale the workload.
func pointAt(w *workload) (string, error) {
	type reference struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Name       string `json:"name"`
	}
	to := reference{w.gvk.GroupVersion().String(), w.gvk.Kind, w.meta.Name}
	return jsonPatch(operation{Op: "replace", Path: "/spec/scaleTargetRef", Value: to})
}

// operation is one of a JSON Patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

func jsonPatch(operations ...operation) (string, error) {
	body, err := json.Marshal(operations)
	return string(body), err
}
