// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// manifest is a Deployment in a repository.
func manifest() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](5),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0))},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}

// running is the live, settled Deployment of manifest.
func running() *appsv1.Deployment {
	d := manifest()
	d.UID, d.ResourceVersion, d.Generation = "u", "42", 4
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	d.Spec.RevisionHistoryLimit = ptr.To[int32](10)
	d.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
	d.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 4, Replicas: 5, UpdatedReplicas: 5, ReadyReplicas: 5, AvailableReplicas: 5}
	return d
}

func converted(tb testing.TB) *rollout.Rollout {
	tb.Helper()
	r, errs := rollout.Convert(manifest(), rollout.Options{})
	require.Empty(tb, errs)
	return r
}

// live is a Rollout of five pods in a cluster, healthy or in the middle of a
// canary.
func live(tb testing.TB, change func(r *rollout.Rollout)) *unstructured.Unstructured {
	tb.Helper()
	r := converted(tb)
	r.UID, r.ResourceVersion, r.Generation = "u", "7", 2
	r.Spec.Replicas = ptr.To[int32](5)
	if change != nil {
		change(r)
	}
	u, err := r.Unstructured()
	require.NoError(tb, err)
	u.Object["status"] = map[string]any{"observedGeneration": "2", "phase": "Healthy", "currentPodHash": "a", "stableRS": "a"}
	return u
}

func refers(scaleDown string) func(r *rollout.Rollout) {
	return func(r *rollout.Rollout) {
		r.Spec.Template = nil
		r.Spec.WorkloadRef = &rollout.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", ScaleDown: scaleDown}
	}
}

func scaler(name, kind, target string) autoscalingv2.HorizontalPodAutoscaler {
	ref := autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: target}
	if kind == rollout.GVK().Kind {
		ref.APIVersion = rollout.GVK().GroupVersion().String()
	}
	return autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"},
		Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: ref},
	}
}

func paths(errs field.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Field)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// index is the place of the first action whose command has the text, or -1.
func index(p plan.Plan, text string) int {
	return slices.IndexFunc(p.Actions, func(a plan.Action) bool { return strings.Contains(a.Command, text) })
}

// written is the manifest that a plan writes for itself.
func written(t *testing.T, p plan.Plan) map[string]any {
	t.Helper()
	i := index(p, "cat >")
	require.NotEqual(t, -1, i)
	_, body, _ := strings.Cut(p.Actions[i].Command, "<<'EOF'\n")
	body, _, _ = strings.Cut(body, "\nEOF")
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &m))
	return m
}

// show prints o by a jsonpath, as kubectl does.
func show(out io.Writer, template string, o any) error {
	j := jsonpath.New("get").AllowMissingKeys(true)
	return errors.Join(j.Parse(template), j.Execute(out, o))
}
