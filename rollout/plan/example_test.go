// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

func ExampleMigration() {
	deployment := running() // the live one
	r, _ := rollout.Convert(manifest(), rollout.Options{})

	p, errs := plan.Migration(deployment, r, nil, plan.Options{Method: plan.Adopt})

	for i, a := range p.Actions {
		fmt.Printf("%d. %s\n", i+1, a.Do)
	}
	fmt.Println(len(errs))
	// Output:
	// 1. Stop if the cluster has changed since this plan was made, except by an earlier run of it
	// 2. Write the Rollout that is applied below
	// 3. Let the server check it without storing it: kind, fields, quota, admission
	// 4. Label the ReplicaSets of the Deployment, because the controller of Rollouts adopts only those with this label
	// 5. Check again, because the next step takes pods away
	// 6. Leave the ReplicaSets and pods of the Deployment without an owner; they continue to run
	// 7. Create the Rollout with as many replicas as run now
	// 0
}

// A change of the image has to wait until the Rollout is there: its first
// revision goes through no steps.
func ExampleMigration_refused() {
	r, _ := rollout.Convert(manifest(), rollout.Options{})
	r.Spec.Template.Spec.Containers[0].Image = "web:2"

	_, errs := plan.Migration(running(), r, nil, plan.Options{Method: plan.SideBySide})

	fmt.Println(errs[0].Field)
	// Output: spec.template.spec.containers[0].image
}

func ExampleRollback() {
	r, _ := rollout.Convert(manifest(), rollout.Options{})
	u, _ := r.Unstructured() // the live one

	p, errs := plan.Rollback(u, manifest(), nil, plan.Options{Method: plan.Adopt})

	fmt.Println(p.Actions[4].Command)
	fmt.Println(p.Actions[4].Until)
	fmt.Println(len(errs))
	// Output:
	// kubectl -n shop delete rollout web --cascade=orphan --ignore-not-found --wait=false
	// echo 'Waiting up to 60s until rollout/web is gone'
	// kubectl -n shop wait --for=delete rollout/web --timeout=60s
	// 0
}

// A plan prints as a script. Its header says what it is of.
func ExamplePlan_String() {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "4c1e", "generation": int64(7)},
		"spec": map[string]any{"replicas": int64(5), "workloadRef": map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": "never",
		}},
		"status": map[string]any{"phase": "Healthy"},
	}}
	p, _ := plan.Rollback(u, manifest(), nil, plan.Options{
		Method: plan.Reference, Context: "prod", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	})
	head, _, _ := strings.Cut(p.String(), "\n\n")
	fmt.Println(head)
	// Output:
	// #!/bin/sh
	// # Workload: Rollout shop/web, uid 4c1e, generation 7
	// # Cluster: the kubectl context prod
	// # Read at: 2026-01-02T03:04:05Z
	// # What it does: replaces Rollout web by Deployment web, method Reference
	// # After a stop: fix the reason, and run it again. Run it with sh or bash, or paste it into one of them.
	// # To go back, up to step 3: kubectl --context='prod' -n shop scale deployment web --replicas=0
	// # To go back, after the last step: make a plan by plan.Migration from the live workload, and run it.
	// (
	// set -eu
}

func ExampleRetarget() {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}

	ref := plan.Retarget(h, rollout.GVK()).Spec.ScaleTargetRef

	fmt.Println(ref.APIVersion, ref.Kind, ref.Name)
	// Output: argoproj.io/v1alpha1 Rollout web
}
