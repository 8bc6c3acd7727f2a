// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// owned is the metadata of a live object that several tools have marked.
func owned() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Labels: map[string]string{
			"app.kubernetes.io/managed-by":          "Helm",
			"kustomize.toolkit.fluxcd.io/name":      "shop",
			"kustomize.toolkit.fluxcd.io/namespace": "flux-system",
			"helm.toolkit.fluxcd.io/name":           "shop",
			"helm.toolkit.fluxcd.io/namespace":      "flux-system",
			"kapp.k14s.io/app":                      "1",
			"objectset.rio.cattle.io/hash":          "1",
			"team":                                  "web",
		},
		Annotations: map[string]string{
			"meta.helm.sh/release-name":           "shop",
			"meta.helm.sh/release-namespace":      "shop",
			"argocd.argoproj.io/tracking-id":      "shop:apps/Deployment:shop/web",
			"configsync.gke.io/declared-fields":   "{}",
			"kustomize.toolkit.fluxcd.io/prune":   "disabled",
			"rollout.argoproj.io/revision":        "3",
			"helm.sh/resource-policy":             "keep",
			"deployment.kubernetes.io/revision":   "3",
			"kubectl.kubernetes.io/restartedAt":   "2026-01-02T03:04:05Z",
			"objectset.rio.cattle.io/applied":     "1",
			"argocd.argoproj.io/sync-options":     "PruneLast=true",
			"autoscaling.alpha.kubernetes.io/x":   "y",
			"configmanagement.gke.io/managed":     "enabled",
			"pulumi.com/patchForce":               "true",
			"operatorframework.io/bundle-unpacks": "1",
		},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "Shop", Name: "main", UID: "s", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}},
	}
}

// carried are the marks in a manifest that a plan writes.
func carried(t *testing.T, p plan.Plan) (labels, annotations map[string]any, owners []any) {
	t.Helper()
	meta := written(t, p)["metadata"].(map[string]any)
	labels, _ = meta["labels"].(map[string]any)
	annotations, _ = meta["annotations"].(map[string]any)
	owners, _ = meta["ownerReferences"].([]any)
	return labels, annotations, owners
}

// TestPlan_CarriesTheMarksOfTheOwners in both directions: Helm refuses to
// upgrade an object without its marks, and its rendered manifest has none.
//
//req:shows R5
func TestPlan_CarriesTheMarksOfTheOwners(t *testing.T) {
	meta := owned()
	d := running()
	d.Labels, d.OwnerReferences = meta.Labels, meta.OwnerReferences
	maps.Copy(d.Annotations, meta.Annotations)
	u := live(t, nil)
	u.SetLabels(meta.Labels)
	u.SetAnnotations(meta.Annotations)
	u.SetOwnerReferences(meta.OwnerReferences)
	to := converted(t)
	back := manifest()
	there, errs := plan.Migration(d, to, nil, plan.Options{})
	require.Empty(t, errs)
	again, errs := plan.Rollback(u, back, nil, plan.Options{})
	require.Empty(t, errs)
	for _, p := range []plan.Plan{there, again} {
		labels, annotations, owners := carried(t, p)
		assert.Equal(t, map[string]any{
			"app.kubernetes.io/managed-by":          "Helm",
			"kustomize.toolkit.fluxcd.io/name":      "shop",
			"kustomize.toolkit.fluxcd.io/namespace": "flux-system",
			"helm.toolkit.fluxcd.io/name":           "shop",
			"helm.toolkit.fluxcd.io/namespace":      "flux-system",
		}, labels, "a tool that deletes what has its mark and is not in its source finds none")
		assert.Equal(t, map[string]any{"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "shop"}, annotations)
		assert.Equal(t, []any{map[string]any{
			"apiVersion": "x/v1", "kind": "Shop", "name": "main", "uid": "s", "controller": true,
		}}, owners, "blockOwnerDeletion needs a right on the owner where the API server enforces it")
	}
	assert.Equal(t, converted(t), to, "the arguments do not change")
	assert.Equal(t, manifest(), back)
}

// TestPlan_TheManifestsOwnMarksWin: the manifest is applied from then on.
func TestPlan_TheManifestsOwnMarksWin(t *testing.T) {
	u := live(t, nil)
	u.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
	u.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "old", "meta.helm.sh/release-namespace": "old"})
	u.SetOwnerReferences(owned().OwnerReferences)
	to := manifest()
	to.Labels = map[string]string{"app.kubernetes.io/managed-by": "shop-operator"}
	to.Annotations = map[string]string{"meta.helm.sh/release-name": "new"}
	to.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "Shop", Name: "other", UID: "o"}}
	p, errs := plan.Rollback(u, to, nil, plan.Options{})
	require.Empty(t, errs)
	labels, annotations, owners := carried(t, p)
	assert.Equal(t, map[string]any{"app.kubernetes.io/managed-by": "shop-operator"}, labels)
	assert.Equal(t, map[string]any{"meta.helm.sh/release-name": "new", "meta.helm.sh/release-namespace": "old"}, annotations)
	require.Len(t, owners, 1)
	assert.Equal(t, "other", owners[0].(map[string]any)["name"])
}

// TestPlan_MarksOfNoOwner: a managed-by of another tool is an ordinary label,
// and a plan adds no empty fields.
func TestPlan_MarksOfNoOwner(t *testing.T) {
	u := live(t, func(r *rollout.Rollout) {
		r.Labels = map[string]string{"app.kubernetes.io/managed-by": "kustomize", "team": "web"}
	})
	p, errs := plan.Rollback(u, manifest(), nil, plan.Options{})
	require.Empty(t, errs)
	meta := written(t, p)["metadata"].(map[string]any)
	assert.Equal(t, map[string]any{"name": "web", "namespace": "shop"}, meta)
}
