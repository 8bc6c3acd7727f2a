// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// A plan prints as a script. Whole ones are in testdata.
func ExamplePlan_String() {
	r, _ := rollout.Convert(manifest(), rollout.Options{})

	p, _ := plan.Migration(deployed(), r, nil, plan.Options{})

	head, _, _ := strings.Cut(p.String(), "set -eu")
	fmt.Print(head)
	// Output:
	// #!/bin/sh
	// # Replaces Deployment web by Rollout web in namespace shop.
	// # The old pods stay until the new ones are ready.
	// # Read it, then run it: sh FILE. After a stop, fix the cause and run it again.
	// # To undo it after the last step: make a plan by plan.Rollback and run it.
	// # To undo it before the last step, while deployment/web has enough pods:
	// #   kubectl --namespace=shop delete rollout/web
}

func ExampleMigration() {
	deployment := deployed() // the live one
	hpa := scaler("web", "Deployment", "web")
	r, _ := rollout.Convert(manifest(), rollout.Options{})

	p, errs := plan.Migration(deployment, r, []unstructured.Unstructured{hpa}, plan.Options{})

	for i, s := range p.Steps {
		fmt.Printf("%d. %s: %s %s\n", i+1, s.Do, s.Verb, s.Object)
	}
	fmt.Println(len(errs))
	// Output:
	// 1. Check that Deployment web has not changed, or was replaced by an earlier run: check deployment/web
	// 2. Check that Rollout web does not exist, or is of this plan: check rollout/web
	// 3. Check that this plan knows each HorizontalPodAutoscaler of it: check hpa
	// 4. Create Rollout web with as many replicas as Deployment web had: apply rollout/web
	// 5. Leave the replicas to the next writer: a manifest, an autoscaler or a person: patch rollout/web
	// 6. Wait until Rollout web has its pods, and scale it up if Deployment web is: wait rollout/web
	// 7. Hand the HorizontalPodAutoscaler over: patch hpa/web
	// 8. Check that it keeps its target for 10 seconds: other tools put the old one back: check hpa/web
	// 9. Wait again: the autoscaler scales Rollout web now: wait rollout/web
	// 10. Check again, because the next step takes pods away: check deployment/web
	// 11. Delete Deployment web and its pods: delete deployment/web
	// 0
}

// A change of the image has to wait until the Rollout is there: its first
// revision goes through no steps.
func ExampleMigration_refused() {
	r, _ := rollout.Convert(manifest(), rollout.Options{})
	r.Spec.Template.Spec.Containers[0].Image = "web:2"

	_, errs := plan.Migration(deployed(), r, nil, plan.Options{})

	fmt.Println(errs[0].Field)
	// Output: spec.template.spec.containers[0].image
}

func ExampleRollback() {
	rollout := canary() // the live one

	p, errs := plan.Rollback(rollout, manifest(), nil, plan.Options{})

	fmt.Println(p.Steps[len(p.Steps)-1].Do)
	fmt.Println(len(errs))
	// Output:
	// Delete Rollout web and its pods
	// 0
}

func ExampleRetarget() {
	hpa := scaler("web", "Deployment", "web")

	changed, err := plan.Retarget(&hpa, "web", rollout.GVK())

	fmt.Println(changed, err)
	fmt.Println(hpa.Object["spec"])
	// Output:
	// true <nil>
	// map[scaleTargetRef:map[apiVersion:argoproj.io/v1alpha1 kind:Rollout name:web]]
}

// deployed is the Deployment web as the server returns it.
func deployed() *unstructured.Unstructured {
	d := running()
	tree, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	u := &unstructured.Unstructured{Object: tree}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return u
}

// canary is the Rollout web as the server returns it.
func canary() *unstructured.Unstructured {
	r, _ := rollout.Convert(manifest(), rollout.Options{})
	r.UID = "u"
	r.Generation = 1
	r.Status = rollout.Status{ObservedGeneration: "1", StableRS: "a", CurrentPodHash: "a"}
	tree, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	return &unstructured.Unstructured{Object: tree}
}
