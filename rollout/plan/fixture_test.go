// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/yaml"

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
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: fence("1"), MaxUnavailable: fence("0")},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}

func fence(s string) *intstr.IntOrString { return ptr.To(intstr.Parse(s)) }

// gitops are the managed fields of an object that a GitOps tool applies.
func gitops() []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: "gitops", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
		FieldsV1: fields(`{"f:spec":{"f:selector":{}}}`),
	}}
}

func fields(text string) *metav1.FieldsV1 {
	f := new(metav1.FieldsV1)
	_ = f.UnmarshalJSON([]byte(text)) // never fails
	return f
}

// running is the live Deployment of manifest.
func running() *appsv1.Deployment {
	d := manifest()
	d.UID = "u"
	d.ResourceVersion = "42"
	d.Generation = 4
	d.ManagedFields = gitops()
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	d.Spec.RevisionHistoryLimit = ptr.To[int32](10)
	d.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
	d.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
	d.Status = rolledOut(4, 5)
	return d
}

// inCluster is a Deployment as the server returns it.
func inCluster(tb testing.TB, d *appsv1.Deployment) *unstructured.Unstructured {
	tb.Helper()
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	require.NoError(tb, err)
	u := &unstructured.Unstructured{Object: tree}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return u
}

func rolledOut(generation int64, n int32) appsv1.DeploymentStatus {
	return appsv1.DeploymentStatus{
		ObservedGeneration: generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
	}
}

func converted(tb testing.TB) *rollout.Rollout {
	tb.Helper()
	r, errs := rollout.Convert(manifest(), rollout.Options{})
	require.Empty(tb, errs)
	return r
}

// live is a healthy Rollout of five pods in a cluster.
func live(tb testing.TB, change func(r *rollout.Rollout)) *unstructured.Unstructured {
	tb.Helper()
	r := converted(tb)
	r.UID = "u"
	r.ResourceVersion = "7"
	r.Generation = 2
	r.ManagedFields = gitops()
	if change != nil {
		change(r)
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	require.NoError(tb, err)
	u := &unstructured.Unstructured{Object: tree}
	u.Object["status"] = map[string]any{
		"observedGeneration": "2", "phase": "Healthy", "currentPodHash": "a", "stableRS": "a",
		"replicas": int64(5), "updatedReplicas": int64(5), "availableReplicas": int64(5), "conditions": completed(),
	}
	return u
}

func completed() []any {
	return []any{map[string]any{"type": "Completed", "status": "True", "reason": "RolloutCompleted"}}
}

// midCanary is a Rollout that waits at its first step.
func midCanary(tb testing.TB) *unstructured.Unstructured {
	tb.Helper()
	u := live(tb, nil)
	status := u.Object["status"].(map[string]any)
	status["phase"] = "Paused"
	status["currentPodHash"] = "b"
	status["updatedReplicas"] = int64(1)
	return u
}

func refers(scaleDown string) func(r *rollout.Rollout) {
	return func(r *rollout.Rollout) {
		r.Spec.Template = nil
		r.Spec.WorkloadRef = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": scaleDown}
	}
}

// scaler is an autoscaler of the namespace.
func scaler(name, kind, target string) unstructured.Unstructured {
	version := "apps/v1"
	if kind == "Rollout" {
		version = rollout.GVK().GroupVersion().String()
	}
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"name": name, "namespace": "shop"},
		"spec":     map[string]any{"scaleTargetRef": map[string]any{"apiVersion": version, "kind": kind, "name": target}},
	}}
}

func paths(errs field.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Field)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// find is the number of the first step with this verb and object, or -1.
func find(p plan.Plan, verb string, object string) int {
	return slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Verb == verb && s.Object == object })
}

// written is the manifest that a plan applies.
func written(t *testing.T, p plan.Plan) map[string]any {
	t.Helper()
	i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Verb == "apply" })
	require.NotEqual(t, -1, i)
	var m map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(p.Steps[i].Body), &m))
	return m
}

// show prints o by a jsonpath, as kubectl does.
func show(out io.Writer, template string, o any) error {
	j := jsonpath.New("get").AllowMissingKeys(true)
	return errors.Join(j.Parse(template), j.Execute(out, o))
}

func migration(t *testing.T, change func(d *appsv1.Deployment), others ...unstructured.Unstructured) plan.Plan {
	t.Helper()
	d := running()
	if change != nil {
		change(d)
	}
	p, errs := plan.Migration(inCluster(t, d), converted(t), others, plan.Options{})
	require.Empty(t, errs)
	return p
}

func rollback(t *testing.T, u *unstructured.Unstructured, others ...unstructured.Unstructured) plan.Plan {
	t.Helper()
	p, errs := plan.Rollback(u, manifest(), others, plan.Options{})
	require.Empty(t, errs)
	return p
}
