// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

func ExampleMigration() {
	deployment := running() // as it is in the cluster
	r, _ := rollout.Convert(manifest(), rollout.Options{})

	p, errs := plan.Migration(deployment, r, nil, plan.Adopt)

	for i, a := range p.Actions {
		fmt.Printf("%d. %s\n", i+1, a.Do)
	}
	fmt.Println(len(errs))
	// Output:
	// 1. Write the Rollout that is applied below
	// 2. Let the server check it without storing it: kind, fields, quota, admission
	// 3. Leave the ReplicaSets and pods of the Deployment without an owner; they run on
	// 4. Show them to the controller of Rollouts, which looks for ReplicaSets with this label and any value
	// 5. Create the Rollout with as many replicas as run now
	// 0
}

// A change of the image has to wait until the Rollout is there: its first revision goes through no steps.
func ExampleMigration_refused() {
	r, _ := rollout.Convert(manifest(), rollout.Options{})
	r.Spec.Template.Spec.Containers[0].Image = "web:2"

	_, errs := plan.Migration(running(), r, nil, plan.SideBySide)

	fmt.Println(errs[0].Field)
	// Output: spec.template.spec.containers[0].image
}

func ExampleRollback() {
	r, _ := rollout.Convert(manifest(), rollout.Options{})
	u, _ := r.Unstructured() // as it is in the cluster

	p, errs := plan.Rollback(u, manifest(), nil, plan.Adopt)

	for _, a := range p.Actions[2:] {
		fmt.Println("$", a.Command)
		fmt.Println("$", a.Until)
	}
	fmt.Println(len(errs))
	// Output:
	// $ kubectl -n shop delete rollout web --cascade=orphan --ignore-not-found
	// $ kubectl -n shop wait --for=delete rollout/web --timeout=60s
	// $ kubectl -n shop apply --server-side --validate=strict -f web-deployment.json
	// $ kubectl -n shop rollout status deployment/web --timeout=600s
	// 0
}

// A plan prints as a runbook that is a shell script too.
func ExamplePlan_String() {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
		"metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"replicas": int64(5), "workloadRef": map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": "never",
		}},
		"status": map[string]any{"phase": "Healthy"},
	}}
	p, _ := plan.Rollback(u, manifest(), nil, plan.Reference)
	fmt.Print(p)
	// Output:
	// set -eu
	//
	// # 1. Scale the Deployment up to as many pods as the Rollout has
	// kubectl -n shop scale deployment web --replicas=5
	// # wait
	// kubectl -n shop rollout status deployment/web --timeout=600s
	//
	// # 2. Remove the Rollout and its pods
	// kubectl -n shop delete rollout web --ignore-not-found
	// # wait
	// kubectl -n shop wait --for=delete rollout/web --timeout=600s
}

func ExampleRetarget() {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}

	ref := plan.Retarget(h, rollout.GVK()).Spec.ScaleTargetRef

	fmt.Println(ref.APIVersion, ref.Kind, ref.Name)
	// Output: argoproj.io/v1alpha1 Rollout web
}
