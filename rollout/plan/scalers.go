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

const (
	hpaKind    = "HorizontalPodAutoscaler"
	scaledKind = "ScaledObject"
)

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

// Retarget points an autoscaler of the Deployment or the Rollout of this name
// at the kind to, in place, and reports whether it changed u. It knows
// HorizontalPodAutoscaler, ScaledObject and VerticalPodAutoscaler. A
// PodDisruptionBudget selects pods and needs no change. An object of another
// kind that scales the Deployment is an error, because it may not know
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
	known := []string{hpaKind, scaledKind, "VerticalPodAutoscaler"}
	if !slices.Contains(known, u.GetKind()) {
		return false, fmt.Errorf("rollout/plan: retarget: spec.%s: %s %s names the workload "+
			"%s, which becomes a %s; known kinds are %s",
			t.field, u.GetKind(), u.GetName(), name, to.Kind, strings.Join(known, ", "))
	}
	t.ref["apiVersion"] = to.GroupVersion().String()
	t.ref["kind"] = to.Kind
	return true, nil
}

// scalers are the autoscalers of a workload.
type scalers struct {
	name  string   // of the workload
	found []scaler // ScaledObjects before HorizontalPodAutoscalers
	hpas  []string // of each that targets the name, of any kind
}

type scaler struct{ object, kind string }

// scalers are those that the plan hands over. Other objects that name the
// workload by its kind are warnings.
func (p *planner) scalers(others []unstructured.Unstructured) scalers {
	s := scalers{name: p.old.meta.Name}
	var hpas []scaler
	for i := range others {
		u := &others[i]
		t := targetOf(u)
		elsewhere := u.GetNamespace() != "" && u.GetNamespace() != p.old.meta.Namespace
		if elsewhere || t == nil || t.ref["name"] != s.name {
			continue
		}
		if u.GetKind() == hpaKind {
			s.hpas = append(s.hpas, u.GetName())
		}
		if !t.refers(p.old.gvk.Kind, s.name) && !t.refers(p.new.gvk.Kind, p.new.meta.Name) {
			continue
		}
		switch u.GetKind() {
		case hpaKind:
			hpas = append(hpas, scaler{"hpa/" + u.GetName(), hpaKind})
		case scaledKind:
			s.found = append(s.found, scaler{"scaledobject/" + u.GetName(), scaledKind})
		default:
			p.warn("%s %s names the workload by its kind: change spec.%s to %s, or it does nothing "+
				"after the plan.", u.GetKind(), u.GetName(), t.field, p.new)
		}
	}
	slices.Sort(s.hpas)
	if len(hpas) > 1 {
		p.add(field.NewPath("others"), hpaKind+"s "+strings.Join(s.hpas, " and ")+
			" scale the same pods, so both would stop (AmbiguousSelector); keep one")
	}
	s.found = append(s.found, hpas...)
	return s
}

// known stops a plan that was made without an autoscaler: it would be left
// without a target.
func (s scalers) known() Op {
	var want strings.Builder
	for _, name := range s.hpas {
		want.WriteString(name + " ")
	}
	const names = `{range .items[?(@.spec.scaleTargetRef.name==%q)]}{.metadata.name} {end}`
	return Op{Verb: check, Object: "hpa", terms: terms{
		Fields: fmt.Sprintf(names, s.name),
		Want:   want.String(),
		Else:   "Make a new plan with all HorizontalPodAutoscalers of the namespace.",
	}}
}

// handOver comes when the new workload has its pods and before the old one
// goes: without its target an autoscaler does nothing. KEDA and GitOps tools
// put an old target back within seconds, so a ScaledObject comes before its
// HorizontalPodAutoscaler.
func (p *planner) handOver(s scalers) error {
	there, err := pointAt(p.new)
	if err != nil {
		return err
	}
	back, err := pointAt(p.old)
	if err != nil {
		return err
	}
	for _, of := range s.found {
		p.do(Op{Verb: patch, Object: of.object, Body: there}, "Hand the %s over", of.kind)
		p.plan.undo = append(p.plan.undo, Op{Verb: patch, Object: of.object, Body: back})
	}
	for _, of := range s.found {
		p.do(
			Op{Verb: check, Object: of.object, terms: terms{
				Seconds: 10,
				Fields:  "{.spec.scaleTargetRef.kind} {.spec.scaleTargetRef.name}",
				Want:    p.new.String(),
				Else: "Change scaleTargetRef where its manifest is kept, or stop the tool that resets it. " +
					"Run this again.",
			}},
			"Check that it keeps its target for 10 seconds: other tools put the old one back",
		)
	}
	p.warn("Change scaleTargetRef to %s where the manifest of the autoscaler is kept too, or the next "+
		"apply puts it back. If that happens while the plan runs, the plan stops.", p.new.gvk.Kind)
	return nil
}

// pointAt is the patch that makes an autoscaler scale the workload.
func pointAt(w *workload) (string, error) {
	const ref = "/spec/scaleTargetRef"
	return jsonPatch(
		operation{Op: "add", Path: ref + "/apiVersion", Value: w.gvk.GroupVersion().String()},
		operation{Op: "add", Path: ref + "/kind", Value: w.gvk.Kind},
		operation{Op: "add", Path: ref + "/name", Value: w.meta.Name},
	)
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
