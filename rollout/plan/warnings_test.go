// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/proompteng/controllerkit/rollout/plan"
)

func TestWarnings(t *testing.T) {
	hpa := []autoscalingv2.HorizontalPodAutoscaler{scaler("web", "Deployment", "web"), scaler("other", "Deployment", "other")}
	cases := map[string]struct {
		reason string
		plan   func() plan.Plan
		want   []string
	}{
		"None": {"A plain Deployment walks into no trap.", func() plan.Plan { return migration(t, nil, nil, plan.SideBySide) }, nil},
		"NoStatus": {"A manifest is no live object.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }, nil, "")
		}, []string{"no status"}},
		"Paused": {"It means something else.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Spec.Paused = true }, nil, "")
		}, []string{"paused"}},
		"ArgoCD": {"It puts back what the plan removes.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Annotations["argocd.argoproj.io/tracking-id"] = "x" }, nil, "")
		}, []string{"Argo CD"}},
		"Helm": {"It deletes at once.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Annotations["meta.helm.sh/release-name"] = "x" }, nil, "")
		}, []string{"Helm"}},
		"HelmByLabel": {"No less.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"} }, nil, "")
		}, []string{"Helm"}},
		"OtherReplicas": {"The next apply scales.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) {
				d.Spec.Replicas = new(int32(7))
				d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 7, 7, 7
			}, nil, "")
		}, []string{"5 replicas and 7 run"}},
		"Scaler":  {"Its manifest is kept somewhere too.", func() plan.Plan { return migration(t, nil, hpa, plan.SideBySide) }, []string{"HorizontalPodAutoscaler web"}},
		"Adopted": {"Of a revision from before.", func() plan.Plan { return migration(t, nil, nil, plan.Adopt) }, []string{"undo"}},
		"ReferenceAndScaler": {"At 0 it stops.", func() plan.Plan { return migration(t, nil, hpa, plan.Reference) }, []string{
			"must not target the Deployment", "Change scaleTargetRef",
		}},
		"ScaledToZero": {"Nothing is tested.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) {
				d.Spec.Replicas, d.Status = new(int32(0)), appsv1.DeploymentStatus{ObservedGeneration: 4}
			}, nil, "")
		}, []string{"0 replicas", "and 0 run"}},
		"RolledBackMidCanary": {"Which image?", func() plan.Plan {
			u := live(t, nil)
			u.Object["status"] = map[string]any{"currentPodHash": "b", "stableRS": "a"}
			return rollback(t, u, plan.Adopt)
		}, []string{"canary is in progress"}},
		"RolledBackWithoutStatus": {"A manifest is no live object.", func() plan.Plan {
			u := live(t, nil)
			delete(u.Object, "status")
			return rollback(t, u, plan.SideBySide)
		}, []string{"The Rollout has no status"}},
		"ReferenceMidCanary": {"The Deployment has the new template.", func() plan.Plan {
			u := live(t, refers("never"))
			u.Object["status"] = map[string]any{"currentPodHash": "b", "stableRS": "a"}
			return rollback(t, u, plan.Reference)
		}, []string{"runs the new version everywhere"}},
		"RolledBackHelm": {"It deletes at once.", func() plan.Plan {
			u := live(t, nil)
			u.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
			return rollback(t, u, plan.SideBySide)
		}, []string{"Helm"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := tc.plan()
			require.Len(t, p.Warnings, len(tc.want), "%s\n%v", tc.reason, p.Warnings)
			for _, want := range tc.want {
				assert.True(t, slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, want) }), "%s: %v", want, p.Warnings)
			}
		})
	}
}

// What is not set is the default, and the error says so.
func TestTheDefaultIsToldByItsValue(t *testing.T) {
	to := converted(t)
	to.Spec.Strategy.Canary.MaxUnavailable = nil
	_, errs := plan.Migration(running(), to, nil, plan.Adopt)
	require.Len(t, errs, 1)
	assert.Contains(t, errs[0].Error(), `maxUnavailable: Invalid value: "25% (the default)": lets 1 of 5 pods be missing`)
}
