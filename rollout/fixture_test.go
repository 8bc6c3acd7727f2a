// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	kjson "sigs.k8s.io/json"

	"github.com/proompteng/controllerkit/rollout"
)

// web is the least a Deployment needs, of five pods.
func web() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](5),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}

// agents is a Deployment as charts make them.
func agents() *appsv1.Deployment {
	d := web()
	selected := map[string]string{"app.kubernetes.io/name": "agents", "app.kubernetes.io/instance": "prod"}
	d.Name = "agents"
	d.Labels = map[string]string{"app.kubernetes.io/name": "agents", "helm.sh/chart": "agents-1.2.3", "app.kubernetes.io/managed-by": "Helm"}
	d.Annotations = map[string]string{"meta.helm.sh/release-name": "prod"}
	d.Spec.MinReadySeconds = 5
	d.Spec.RevisionHistoryLimit = ptr.To[int32](10)
	d.Spec.ProgressDeadlineSeconds = ptr.To[int32](600)
	d.Spec.Selector.MatchLabels = selected
	d.Spec.Template.Labels = map[string]string{"app.kubernetes.io/name": "agents", "app.kubernetes.io/instance": "prod", "tier": "api"}
	d.Spec.Template.Annotations = map[string]string{"checksum/config": "0123456789abcdef"}
	probe := func(path string) *corev1.Probe {
		get := &corev1.HTTPGetAction{Path: path, Port: intOrString("http")}
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: get}, PeriodSeconds: 10}
	}
	d.Spec.Template.Spec = corev1.PodSpec{
		ServiceAccountName: "agents",
		Volumes:            []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}},
		Containers: []corev1.Container{{
			Name:         "agents",
			Image:        "registry.example.com/agents:1.2.3",
			Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			Env:          []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "REGION", Value: "eu"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/agents"}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
			},
			LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
		}},
	}
	return d
}

// canary is the Rollout of web by the defaults.
func canary(tb testing.TB) *rollout.Rollout {
	tb.Helper()
	r, errs := rollout.Convert(web(), rollout.Options{})
	require.Empty(tb, errs)
	return r
}

// manifest is what a user would apply, as decoded.
func manifest(tb testing.TB, r *rollout.Rollout) *unstructured.Unstructured {
	tb.Helper()
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	require.NoError(tb, err)
	return &unstructured.Unstructured{Object: tree}
}

// patched is a manifest after a JSON merge patch, in which null removes a
// field.
func patched(tb testing.TB, u *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	tb.Helper()
	var p map[string]any
	require.NoError(tb, json.Unmarshal([]byte(patch), &p))
	u = u.DeepCopy()
	merge(u.Object, p)
	return u
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		sub, isObject := value.(map[string]any)
		old, wasObject := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && wasObject:
			merge(old, sub)
		default:
			into[key] = value
		}
	}
}

// checked are the errors of Convert for the safe canary after a JSON merge
// patch. A patch that the types cannot hold fails the test.
func checked(tb testing.TB, patch string) field.ErrorList {
	tb.Helper()
	data, err := json.Marshal(patched(tb, manifest(tb, canary(tb)), patch).Object)
	require.NoError(tb, err)
	var r rollout.Rollout
	unknown, err := kjson.UnmarshalStrict(data, &r)
	require.NoError(tb, err)
	require.Empty(tb, unknown)
	_, errs := rollout.Convert(web(), rollout.Options{Mutate: func(out *rollout.Rollout) { *out = r }})
	return errs
}

// paths are the fields that errors name, sorted, each once.
func paths(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Field)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func intOrString(s string) intstr.IntOrString { return intstr.Parse(s) }
