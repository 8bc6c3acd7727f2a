// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

func TestMigration_HandsOverItsOwnAutoscaler(t *testing.T) {
	elsewhere := scaler("elsewhere", "Deployment", "web")
	elsewhere.SetNamespace("other")
	anywhere := scaler("anywhere", "Deployment", "web")
	anywhere.SetNamespace("")
	cases := map[string]struct {
		reason string
		hpa    unstructured.Unstructured
		want   bool
	}{
		"OfTheDeployment":  {"It scales what goes.", scaler("h", "Deployment", "web"), true},
		"OfTheRollout":     {"A run of the plan that was broken off left it so.", scaler("h", "Rollout", "web"), true},
		"OfAnother":        {"The same kind.", scaler("h", "Deployment", "api"), false},
		"OfAnotherRollout": {"The same kind.", scaler("h", "Rollout", "api"), false},
		"OfAnotherKind":    {"The same name.", scaler("h", "StatefulSet", "web"), false},
		"InAnotherPlace":   {"The same name in another namespace.", elsewhere, false},
		"InNoPlace":        {"A manifest that is applied to the namespace at hand.", anywhere, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := migration(t, nil, tc.hpa)
			assert.Equal(t, tc.want, find(p, "patch", "hpa/"+tc.hpa.GetName()) > 0, tc.reason)
		})
	}
	budget := unstructured.Unstructured{Object: map[string]any{"kind": "PodDisruptionBudget"}}
	p := migration(t, nil, scaler("z", "Deployment", "web"), scaler("b", "Deployment", "api"), scaler("a", "StatefulSet", "web"), budget)
	assert.Equal(t, "a z ", p.Steps[find(p, "check", "hpa")].Want, "all of this name, in the order of the server")
}

// TestPlan_HandsAScaledObjectOverFirst: KEDA puts the target of its
// HorizontalPodAutoscaler back to that of the ScaledObject.
//
//req:shows R5
func TestPlan_HandsAScaledObjectOverFirst(t *testing.T) {
	scaled := scaler("web", "", "web")
	scaled.SetKind("ScaledObject")
	unstructured.RemoveNestedField(scaled.Object, "spec", "scaleTargetRef", "kind")
	hpa := scaler("keda-hpa-web", "Deployment", "web")
	p := migration(t, nil, hpa, scaled)
	first := find(p, "patch", "scaledobject/web")
	require.Positive(t, first)
	assert.Equal(t, first+1, find(p, "patch", "hpa/keda-hpa-web"))
	assert.Contains(t, p.Steps[first].Body, `"path":"/spec/scaleTargetRef/kind","value":"Rollout"`)
	assert.Equal(t, first+2, find(p, "check", "scaledobject/web"))
	assert.Equal(t, "keda-hpa-web ", p.Steps[find(p, "check", "hpa")].Want)
}

// TestPlan_AppliesAsTheToolThatAppliesTheLiveObject: another manager would keep
// each field that the tool removes later.
//
//req:shows R5
func TestPlan_AppliesAsTheToolThatAppliesTheLiveObject(t *testing.T) {
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)}
	}
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, owned string, when *metav1.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Time: when, FieldsV1: fields(owned)}
	}
	const whole, image = `{"f:spec":{"f:selector":{},"f:template":{}}}`, `{"f:spec":{"f:template":{}}}`
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	status := entry("kube-controller-manager", update, `{"f:status":{}}`, at(9))
	status.Subresource = "status"
	cases := map[string]struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		options plan.Options
		want    string
	}{
		"Applied":   {"The tool that applies.", []metav1.ManagedFieldsEntry{entry("argocd-controller", apply, whole, at(1)), status}, plan.Options{}, "argocd-controller"},
		"Patched":   {"A patch of the image is not a manifest.", []metav1.ManagedFieldsEntry{entry("gitops", apply, whole, at(1)), entry("kubectl-set", update, image, at(2))}, plan.Options{}, "gitops"},
		"Created":   {"It was created by hand, and is applied since.", []metav1.ManagedFieldsEntry{entry("kubectl-create", update, whole, at(2)), entry("gitops", apply, whole, at(1))}, plan.Options{}, "gitops"},
		"Moved":     {"The tool of today.", []metav1.ManagedFieldsEntry{entry("old", apply, whole, at(1)), entry("new", apply, whole, at(2))}, plan.Options{}, "new"},
		"MovedBack": {"The order of the entries plays no part.", []metav1.ManagedFieldsEntry{entry("new", apply, whole, at(2)), entry("old", apply, whole, at(1))}, plan.Options{}, "new"},
		"Edited":    {"An update after an apply is by hand.", []metav1.ManagedFieldsEntry{entry("gitops", apply, whole, at(1)), entry("kubectl-edit", update, whole, at(2))}, plan.Options{}, "gitops"},
		"Updated":   {"The later one, if none applies.", []metav1.ManagedFieldsEntry{entry("helm", update, whole, at(2)), entry("old", update, whole, at(1))}, plan.Options{}, "helm"},
		"Helm":      {"Helm 3 updates.", []metav1.ManagedFieldsEntry{entry("helm", update, whole, at(1))}, plan.Options{}, "helm"},
		"Kubectl":   {"A client-side apply has another name than the server-side apply that follows it.", []metav1.ManagedFieldsEntry{entry("kubectl-client-side-apply", update, whole, at(1))}, plan.Options{}, "kubectl"},
		"Unknown":   {"Nothing says who applies.", nil, plan.Options{}, "kubectl"},
		"Asked":     {"The caller knows better.", gitops(), plan.Options{FieldManager: "deployer"}, "deployer"},
		"NoFields":  {"An entry that cannot be read.", []metav1.ManagedFieldsEntry{entry("x", apply, `[]`, nil), {Manager: "y"}}, plan.Options{}, "kubectl"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := running()
			d.ManagedFields = tc.entries
			there, errs := plan.Migration(inCluster(t, d), converted(t), nil, tc.options)
			require.Empty(t, errs)
			assert.Equal(t, tc.want, there.Steps[find(there, "apply", "rollout/web")].Manager, tc.reason)
			u := live(t, nil)
			u.SetManagedFields(tc.entries)
			back, errs := plan.Rollback(u, manifest(), nil, tc.options)
			require.Empty(t, errs)
			assert.Equal(t, tc.want, back.Steps[find(back, "apply", "deployment/web")].Manager, tc.reason)
		})
	}
}

func TestRetarget(t *testing.T) {
	of := func(kind, field, targetKind, name string) unstructured.Unstructured {
		ref := map[string]any{"name": name}
		if targetKind != "" {
			ref["kind"] = targetKind
		}
		return unstructured.Unstructured{Object: map[string]any{"kind": kind, "spec": map[string]any{field: ref, "more": "kept"}}}
	}
	cases := map[string]struct {
		reason  string
		u       unstructured.Unstructured
		changed bool
		refused bool
	}{
		"Autoscaler":         {"It scales the Deployment.", of("HorizontalPodAutoscaler", "scaleTargetRef", "Deployment", "web"), true, false},
		"ScaledObject":       {"KEDA's default is a Deployment.", of("ScaledObject", "scaleTargetRef", "", "web"), true, false},
		"VerticalAutoscaler": {"Its field has another name.", of("VerticalPodAutoscaler", "targetRef", "Deployment", "web"), true, false},
		"Already":            {"Nothing to do.", of("HorizontalPodAutoscaler", "scaleTargetRef", "Rollout", "web"), false, false},
		"OfAnother":          {"Not this one.", of("HorizontalPodAutoscaler", "scaleTargetRef", "Deployment", "api"), false, false},
		"OfAStatefulSet":     {"Not this one.", of("HorizontalPodAutoscaler", "scaleTargetRef", "StatefulSet", "web"), false, false},
		"Unknown":            {"It may not know Rollouts.", of("Canary", "targetRef", "Deployment", "web"), false, true},
		"NoTarget":           {"Any other object.", unstructured.Unstructured{Object: map[string]any{"kind": "Service", "spec": "x"}}, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.u.DeepCopy()
			changed, err := plan.Retarget(&tc.u, "web", rollout.GVK())
			assert.Equal(t, tc.changed, changed, tc.reason)
			if tc.refused {
				require.ErrorContains(t, err, "rollout/plan: retarget: spec.targetRef: ")
				require.ErrorContains(t, err, "ScaledObject")
			} else {
				require.NoError(t, err)
			}
			if !tc.changed {
				assert.Equal(t, before, &tc.u)
				return
			}
			_, err = plan.Retarget(&tc.u, "web", appsv1.SchemeGroupVersion.WithKind("Deployment"))
			require.NoError(t, err)
			spec := tc.u.Object["spec"].(map[string]any)
			delete(spec, "more")
			for _, ref := range spec {
				assert.Equal(t, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, ref, "to a Rollout, and to a Deployment again")
			}
		})
	}
	changed, err := plan.Retarget(nil, "web", rollout.GVK())
	assert.False(t, changed)
	assert.NoError(t, err)
}
