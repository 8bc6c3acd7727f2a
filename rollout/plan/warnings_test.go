// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

func TestWarnings(t *testing.T) {
	vertical := scaler("web", "Deployment", "web")
	vertical.SetKind("VerticalPodAutoscaler")
	cases := map[string]struct {
		reason string
		change func(d *appsv1.Deployment)
		others []unstructured.Unstructured
		want   []string // after the first, which each plan has
	}{
		"None":      {"A plain Deployment walks into no trap.", nil, nil, nil},
		"NoManager": {"A field that is removed later would stay.", func(d *appsv1.Deployment) { d.ManagedFields = nil }, nil, []string{"no managedFields"}},
		"OtherReplicas": {"The next apply scales.", func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To[int32](7)
			d.Status = rolledOut(4, 7)
		}, nil, []string{"5 replicas and 7 run"}},
		"Scaler": {
			"Its manifest is kept somewhere too.", nil,
			[]unstructured.Unstructured{scaler("web", "Deployment", "web"), scaler("other", "Deployment", "other")},
			[]string{"Change scaleTargetRef to Rollout"},
		},
		"Vertical": {"No plan changes it.", nil, []unstructured.Unstructured{vertical}, []string{"VerticalPodAutoscaler web names the workload by its kind"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := migration(t, tc.change, tc.others...)
			require.Len(t, p.Warnings, 1+len(tc.want), "%s\n%v", tc.reason, p.Warnings)
			assert.Contains(t, p.Warnings[0], "Suspend what applies this workload")
			for i, want := range tc.want {
				assert.Contains(t, p.Warnings[i+1], want, tc.reason)
			}
		})
	}
}

func TestWarnings_OfTheCanary(t *testing.T) {
	to := converted(t)
	to.Spec.Strategy.Canary.Steps = nil
	p, errs := plan.Migration(inCluster(t, running()), to, nil, plan.Options{})
	require.Empty(t, errs)
	require.Len(t, p.Warnings, 2)
	assert.Contains(t, p.Warnings[1], "spec.strategy.canary.steps", "legal, and no canary")
}

// TestPlan_CarriesHelmsMarks, without which Helm refuses to upgrade, and no
// other: some tools delete a marked object that is not in their source yet.
//
//req:shows R5
func TestPlan_CarriesHelmsMarks(t *testing.T) {
	d := running()
	d.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm", "kapp.k14s.io/app": "x", "app.kubernetes.io/instance": "argo"}
	d.Annotations["meta.helm.sh/release-name"] = "prod"
	d.Annotations["meta.helm.sh/release-namespace"] = "shop"
	d.Annotations["argocd.argoproj.io/tracking-id"] = "x"
	d.Finalizers = []string{"example.com/keep"}
	marks := func(p plan.Plan) (labels, annotations map[string]string) {
		meta := unstructured.Unstructured{Object: written(t, p)}
		assert.Empty(t, meta.GetFinalizers())
		annotations = meta.GetAnnotations()
		assert.NotEmpty(t, annotations["rollout.controllerkit.dev/plan"])
		delete(annotations, "rollout.controllerkit.dev/plan")
		return meta.GetLabels(), annotations
	}
	helms := map[string]string{"meta.helm.sh/release-name": "prod", "meta.helm.sh/release-namespace": "shop"}
	there, errs := plan.Migration(inCluster(t, d), converted(t), nil, plan.Options{})
	require.Empty(t, errs)
	labels, annotations := marks(there)
	assert.Equal(t, map[string]string{"app.kubernetes.io/managed-by": "Helm"}, labels)
	assert.Equal(t, helms, annotations)
	labels, _ = marks(migration(t, func(live *appsv1.Deployment) { live.Annotations = helms }))
	assert.Empty(t, labels, "the live object has none")
	delete(d.Annotations, "meta.helm.sh/release-name")
	labels, annotations = marks(migration(t, func(live *appsv1.Deployment) { live.ObjectMeta = *d.ObjectMeta.DeepCopy() }))
	assert.Empty(t, labels, "not of Helm")
	assert.Empty(t, annotations)
	d.Annotations["meta.helm.sh/release-name"] = "prod"

	u := live(t, func(r *rollout.Rollout) {
		r.Labels = d.Labels
		r.Annotations = d.Annotations
		r.Finalizers = d.Finalizers
	})
	own := manifest()
	own.Annotations = map[string]string{"meta.helm.sh/release-name": "own"}
	back, errs := plan.Rollback(u, own, nil, plan.Options{})
	require.Empty(t, errs)
	labels, annotations = marks(back)
	assert.Equal(t, map[string]string{"app.kubernetes.io/managed-by": "Helm"}, labels)
	helms["meta.helm.sh/release-name"] = "own"
	assert.Equal(t, helms, annotations, "the manifest has another name")
}
