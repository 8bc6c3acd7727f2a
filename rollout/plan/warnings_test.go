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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

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
		"NoStatus": {"A manifest is not a live object.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }, nil, "")
		}, []string{"no status"}},
		"Flux": {"It puts back what the plan removes.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "x"} }, nil, "")
		}, []string{"Flux"}},
		"OtherTools": {"One each.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) {
				d.Labels = map[string]string{"kapp.k14s.io/app": "x", "olm.owner": "x", "helm.toolkit.fluxcd.io/name": "x", "app.kubernetes.io/managed-by": "Helm"}
				d.Annotations = map[string]string{"objectset.rio.cattle.io/id": "x", "configmanagement.gke.io/managed": "x"}
			}, nil, "")
		}, []string{"kapp", "Operator Lifecycle Manager", "Flux", "Helm", "Fleet", "Config Sync"}},
		"Owner": {"Its controller creates it again.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) {
				d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "Shop", Name: "main", UID: "s"}}
			}, nil, "")
		}, []string{"belongs to Shop main"}},
		"ScalerOfKEDA": {"A ScaledObject puts its target back.", func() plan.Plan {
			h := scaler("web", "Deployment", "web")
			h.OwnerReferences = []metav1.OwnerReference{{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: "web", UID: "s"}}
			return migration(t, nil, []autoscalingv2.HorizontalPodAutoscaler{h}, "")
		}, []string{"belongs to ScaledObject web", "Change scaleTargetRef"}},
		"ScalerOfFlux": {"A tool that applies it puts its target back too.", func() plan.Plan {
			h := scaler("web", "Deployment", "web")
			h.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "x"}
			return migration(t, nil, []autoscalingv2.HorizontalPodAutoscaler{h}, "")
		}, []string{"Flux applies the HorizontalPodAutoscaler", "Change scaleTargetRef"}},
		"ScalerOfKEDAAlone": {"Its owner is not shown, its label is.", func() plan.Plan {
			h := scaler("web", "Deployment", "web")
			h.Labels = map[string]string{"scaledobject.keda.sh/name": "web"}
			return migration(t, nil, []autoscalingv2.HorizontalPodAutoscaler{h}, "")
		}, []string{"KEDA applies the HorizontalPodAutoscaler", "Change scaleTargetRef"}},
		"ScalerOfKEDAOfFlux": {"KEDA copies the labels of the ScaledObject: one warning, of the owner.", func() plan.Plan {
			h := scaler("web", "Deployment", "web")
			h.Labels = map[string]string{"scaledobject.keda.sh/name": "web", "kustomize.toolkit.fluxcd.io/name": "x"}
			h.OwnerReferences = []metav1.OwnerReference{{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: "web", UID: "s"}}
			return migration(t, nil, []autoscalingv2.HorizontalPodAutoscaler{h}, "")
		}, []string{"belongs to ScaledObject web", "Change scaleTargetRef"}},
		"Managers": {"A field manager shows a tool that puts no mark on objects.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) {
				for _, name := range []string{"argocd-controller", "HashiCorp", "pulumi-kubernetes-1", "helm", "kubectl-client-side-apply", "kube-controller-manager", "helmsman"} {
					d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{Manager: name})
				}
			}, nil, "")
		}, []string{"Argo CD", "Terraform", "Pulumi", "Helm"}},
		"Shared": {"Two pods at the same time may not have them.", func() plan.Plan {
			return migrationOf(t, func(s *corev1.PodSpec) {
				s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
				s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
			})
		}, []string{"PersistentVolumeClaim data", "hostPort 8080"}},
		"HostNetwork": {"So it is with every port.", func() plan.Plan {
			return migrationOf(t, func(s *corev1.PodSpec) { s.HostNetwork = true })
		}, []string{"hostNetwork"}},
		"MatchLabelKeys": {"The label has another name.", func() plan.Plan {
			return migrationOf(t, func(s *corev1.PodSpec) {
				keys := []string{"pod-template-hash"}
				s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MatchLabelKeys: []string{"other"}}, {MatchLabelKeys: keys}}
				term := corev1.PodAffinityTerm{MatchLabelKeys: keys}
				s.Affinity = &corev1.Affinity{
					PodAffinity:     &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: term}}},
					PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}},
				}
			})
		}, []string{"topologySpreadConstraints[1].matchLabelKeys[0]", "podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys[0]", "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]", "topologySpreadConstraints[1], spec.template.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0], spec.template.spec.affinity.podAntiAffinity.required"}},
		"NoSteps": {"Legal, and no canary.", func() plan.Plan {
			to := converted(t)
			to.Spec.Strategy.Canary.Steps = nil
			p, errs := plan.Migration(running(), to, nil, plan.Options{})
			require.Empty(t, errs)
			return p
		}, []string{"spec.strategy.canary.steps"}},
		"ArgoCD": {"It puts back what the plan removes.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Annotations["argocd.argoproj.io/tracking-id"] = "x" }, nil, "")
		}, []string{"Argo CD"}},
		"Helm": {"An upgrade deletes the old workload immediately.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Annotations["meta.helm.sh/release-name"] = "x" }, nil, "")
		}, []string{"Helm"}},
		"HelmByLabel": {"No less.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) { d.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"} }, nil, "")
		}, []string{"Helm"}},
		"OtherReplicas": {"The next apply scales.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) {
				d.Spec.Replicas = ptr.To[int32](7)
				d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 7, 7, 7
			}, nil, "")
		}, []string{"5 replicas and 7 run"}},
		"Scaler":  {"Its manifest is kept somewhere too.", func() plan.Plan { return migration(t, nil, hpa, plan.SideBySide) }, []string{"HorizontalPodAutoscaler web"}},
		"Adopted": {"Of a revision from before.", func() plan.Plan { return migration(t, nil, nil, plan.Adopt) }, []string{"undo"}},
		"ReferenceAndScaler": {"At 0 it stops.", func() plan.Plan { return migration(t, nil, hpa, plan.Reference) }, []string{
			"must not target the Deployment", "Change scaleTargetRef", "Set spec.replicas to 0 in the manifest",
		}},
		"ScaledToZero": {"Nothing is tested.", func() plan.Plan {
			return migration(t, func(d *appsv1.Deployment) {
				d.Spec.Replicas, d.Status = ptr.To[int32](0), appsv1.DeploymentStatus{ObservedGeneration: 4}
			}, nil, "")
		}, []string{"0 replicas", "and 0 run"}},
		"RolledBackMidCanary": {"Which image?", func() plan.Plan {
			u := live(t, nil)
			u.Object["status"] = map[string]any{"currentPodHash": "b", "stableRS": "a"}
			return changing(t, u, plan.Adopt)
		}, []string{"canary is in progress"}},
		"RolledBackAborted": {"Which image?", func() plan.Plan {
			u := live(t, nil)
			u.Object["status"] = map[string]any{"currentPodHash": "b", "stableRS": "a", "abort": true}
			return changing(t, u, plan.SideBySide)
		}, []string{"canary was aborted: the pods run the stable version"}},
		"RolledBackWithoutStatus": {"A manifest is not a live object.", func() plan.Plan {
			u := live(t, nil)
			delete(u.Object, "status")
			return rollback(t, u, plan.SideBySide)
		}, []string{"The Rollout has no status, so this is a preview"}},
		"ReferenceMidCanary": {"The Deployment has the new template.", func() plan.Plan {
			u := live(t, refers("never"))
			u.Object["status"] = map[string]any{"currentPodHash": "b", "stableRS": "a"}
			return changing(t, u, plan.Reference)
		}, []string{"runs that version everywhere"}},
		"RolledBackHelm": {"An upgrade deletes the old workload immediately.", func() plan.Plan {
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

// changing is a rollback that may replace a version.
func changing(t *testing.T, u *unstructured.Unstructured, m plan.Method) plan.Plan {
	t.Helper()
	p, errs := plan.Rollback(u, manifest(), nil, plan.Options{Method: m, AllowTemplateChange: true})
	require.Empty(t, errs)
	return p
}

// migrationOf has the same change in the live template and in the Rollout's.
func migrationOf(t *testing.T, change func(s *corev1.PodSpec)) plan.Plan {
	t.Helper()
	d, to := running(), converted(t)
	change(&d.Spec.Template.Spec)
	change(&to.Spec.Template.Spec)
	p, errs := plan.Migration(d, to, nil, plan.Options{})
	require.Empty(t, errs)
	return p
}

// An unset field has the default, and the error has its value.
func TestMigration_NamesTheDefault(t *testing.T) {
	to := converted(t)
	to.Spec.Strategy.Canary.MaxUnavailable = nil
	_, errs := plan.Migration(running(), to, nil, plan.Options{Method: plan.Adopt})
	require.Len(t, errs, 1)
	assert.Contains(t, errs[0].Error(), `maxUnavailable: Invalid value: "25% (the default)": lets 1 of 5 pods be missing`)
}
