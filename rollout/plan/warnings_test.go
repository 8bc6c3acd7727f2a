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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// ofKEDA is an autoscaler that a ScaledObject owns.
func ofKEDA(labels map[string]string) unstructured.Unstructured {
	h := scaler("web", "Deployment", "web")
	h.SetLabels(labels)
	h.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: "web", UID: "s"}})
	return h
}

func labelled(key string) func(d *appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Labels = map[string]string{key: "Helm"} }
}

func TestWarnings_OfAMigration(t *testing.T) {
	flux := scaler("web", "Deployment", "web")
	flux.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "x"})
	keda := scaler("web", "Deployment", "web")
	keda.SetLabels(map[string]string{"scaledobject.keda.sh/name": "web"})
	scaled := scaler("web", "", "web")
	scaled.SetKind("ScaledObject")
	unstructured.RemoveNestedField(scaled.Object, "spec", "scaleTargetRef", "kind")
	cases := map[string]struct {
		reason string
		change func(d *appsv1.Deployment)
		others []unstructured.Unstructured
		want   []string
	}{
		"None":        {"A plain Deployment walks into no trap.", nil, nil, nil},
		"NoUID":       {"A manifest is not a live object.", func(d *appsv1.Deployment) { d.UID = "" }, nil, []string{"no uid, so this is a preview"}},
		"NoManager":   {"A field that is removed later would stay.", func(d *appsv1.Deployment) { d.ManagedFields = nil }, nil, []string{"no managedFields"}},
		"Flux":        {"It puts back what the plan removes.", labelled("kustomize.toolkit.fluxcd.io/name"), nil, []string{"Flux"}},
		"Helm":        {"An upgrade deletes the old workload immediately.", func(d *appsv1.Deployment) { d.Annotations["meta.helm.sh/release-name"] = "x" }, nil, []string{"Helm"}},
		"HelmByLabel": {"No less.", labelled("app.kubernetes.io/managed-by"), nil, []string{"Helm"}},
		"OtherTools": {"One each.", func(d *appsv1.Deployment) {
			d.Labels = map[string]string{"kapp.k14s.io/app": "x", "olm.owner": "x", "helm.toolkit.fluxcd.io/name": "x"}
			d.Annotations = map[string]string{"objectset.rio.cattle.io/id": "x", "configmanagement.gke.io/managed": "x", "argocd.argoproj.io/tracking-id": "x"}
		}, nil, []string{"kapp", "Operator Lifecycle Manager", "Flux", "Fleet", "Config Sync", "Argo CD"}},
		"Managers": {"A field manager shows a tool that puts no mark on objects.", func(d *appsv1.Deployment) {
			for _, name := range []string{"argocd-controller", "HashiCorp", "pulumi-kubernetes-1", "helm", "kubectl-client-side-apply", "kube-controller-manager", "helmsman"} {
				d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{Manager: name})
			}
		}, nil, []string{"Argo CD", "Terraform", "Pulumi", "Helm"}},
		"Owner": {"Its controller creates it again.", func(d *appsv1.Deployment) {
			d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "Shop", Name: "main", UID: "s"}}
		}, nil, []string{"belongs to Shop main"}},
		"OtherReplicas": {"The next apply scales.", func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To[int32](7)
			d.Status = settled(4, 7)
		}, nil, []string{"5 replicas and 7 run"}},
		"ScaledToZero": {"Nothing is tested.", func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To[int32](0)
			d.Status = settled(4, 0)
		}, nil, []string{"0 replicas", "and 0 run"}},
		"Scaler": {
			"Its manifest is kept somewhere too.", nil,
			[]unstructured.Unstructured{scaler("web", "Deployment", "web"), scaler("other", "Deployment", "other")},
			[]string{"HorizontalPodAutoscaler web"},
		},
		"ScalerOfKEDA":       {"A ScaledObject puts its target back.", nil, []unstructured.Unstructured{ofKEDA(nil)}, []string{"belongs to ScaledObject web", "Change scaleTargetRef"}},
		"ScalerOfFlux":       {"A tool that applies it puts its target back too.", nil, []unstructured.Unstructured{flux}, []string{"Flux applies the HorizontalPodAutoscaler", "Change scaleTargetRef"}},
		"ScalerOfKEDAAlone":  {"Its owner is not shown, its label is.", nil, []unstructured.Unstructured{keda}, []string{"KEDA applies the HorizontalPodAutoscaler", "Change scaleTargetRef"}},
		"ScalerOfKEDAOfFlux": {"KEDA copies the labels: one warning, of the owner.", nil, []unstructured.Unstructured{ofKEDA(flux.GetLabels())}, []string{"belongs to ScaledObject web", "Change scaleTargetRef"}},
		"ScaledObject":       {"It names the Deployment, also without a kind.", nil, []unstructured.Unstructured{scaled}, []string{"ScaledObject web names the workload by its kind: change spec.scaleTargetRef to Rollout web"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { warns(t, migration(t, tc.change, tc.others...), tc.want, tc.reason) })
	}
}

func TestWarnings_OfThePods(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(s *corev1.PodSpec)
		want   []string
	}{
		"Shared": {"Two pods at the same time may not have them.", func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
		}, []string{"the PersistentVolumeClaim data, hostPort 8080 of container web"}},
		"HostNetwork":     {"So it is with every port.", func(s *corev1.PodSpec) { s.HostNetwork = true }, []string{"hostNetwork"}},
		"Apart":           {"With as many nodes as pods, none more can start.", apart("web"), []string{"apart by kubernetes.io/hostname: the plan needs 10 of those"}},
		"ApartFromOthers": {"The pods of another workload are not doubled.", apart("other"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := running()
			to := converted(t)
			tc.change(&d.Spec.Template.Spec)
			tc.change(&to.Spec.Template.Spec)
			p, errs := plan.Migration(d, to, nil, plan.Options{})
			require.Empty(t, errs)
			warns(t, p, tc.want, tc.reason)
		})
	}
}

// apart keeps pods from the nodes of those with the label.
func apart(app string) func(s *corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			}},
		}}
	}
}

func TestWarnings_OfTheCanary(t *testing.T) {
	cases := map[string]struct {
		reason string
		steps  []rollout.Step
		want   []string
	}{
		"NoSteps":     {"Legal, and no canary.", nil, []string{"spec.strategy.canary.steps"}},
		"SameWeights": {"Both are one pod of five.", []rollout.Step{rollout.SetWeight(10), rollout.PauseManual(), rollout.SetWeight(20), rollout.PauseManual()}, []string{"Of 5 pods, the weights 10 and 20 are the same: 1"}},
		"Weights":     {"One pod, and two.", []rollout.Step{rollout.SetWeight(20), rollout.PauseManual(), rollout.SetWeight(40), rollout.PauseManual()}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			to := converted(t)
			to.Spec.Strategy.Canary.Steps = tc.steps
			p, errs := plan.Migration(running(), to, nil, plan.Options{})
			require.Empty(t, errs)
			warns(t, p, tc.want, tc.reason)
		})
	}
}

func TestWarnings_OfARollback(t *testing.T) {
	u := live(t, nil)
	u.SetUID("")
	warns(t, rollback(t, u), []string{"The Rollout has no uid, so this is a preview"}, "A manifest is not a live object.")
	u = live(t, nil)
	u.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
	warns(t, rollback(t, u), []string{"Helm"}, "An upgrade deletes the old workload immediately.")
}

func warns(t *testing.T, p plan.Plan, want []string, reason string) {
	t.Helper()
	require.Len(t, p.Warnings, len(want), "%s\n%v", reason, p.Warnings)
	for _, text := range want {
		assert.True(t, slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, text) }), "%s: %v", text, p.Warnings)
	}
}
