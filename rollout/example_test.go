// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
)

// One value decides; a Deployment stays what it is until it is set.
func Example() {
	deployment, enabled := web(), true

	obj, err := rollout.Render(deployment, enabled, rollout.Options{})

	fmt.Println(obj.GetObjectKind().GroupVersionKind(), err)
	// Output: argoproj.io/v1alpha1, Kind=Rollout <nil>
}

// Off is the same pointer, untouched.
func ExampleRender() {
	deployment := web()
	obj, err := rollout.Render(deployment, false, rollout.Options{})
	fmt.Println(obj == deployment, err)
	// Output: true <nil>
}

func ExampleConvert() {
	r, errs := rollout.Convert(web(), rollout.Options{})
	strategy, _ := json.Marshal(r.Spec.Strategy)
	fmt.Println(r.Name, *r.Spec.Replicas, len(errs))
	fmt.Println(string(strategy))
	// Output:
	// web 5 0
	// {"canary":{"maxSurge":1,"maxUnavailable":0,"steps":[{"setWeight":20},{"pause":{}}]}}
}

func ExampleOptions() {
	r, errs := rollout.Convert(web(), rollout.Options{
		Steps: []rollout.Step{
			rollout.SetWeight(20), rollout.PauseManual(),
			rollout.SetWeight(60), rollout.PauseFor(10 * time.Minute),
		},
		MaxSurge:              ptr.To(intstr.FromString("25%")),
		ProgressDeadlineAbort: true,
		Mutate: func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedStringMap(u.Object, map[string]string{"role": "canary"}, "spec", "strategy", "canary", "canaryMetadata", "labels")
		},
	})
	fmt.Println(len(r.Spec.Strategy.Canary.Steps), r.Spec.Strategy.Canary.CanaryMetadata, errs)
	// Output: 4 map[labels:map[role:canary]] []
}

// Every error in one call, with its path and the accepted values.
func ExampleValidate() {
	r, _ := rollout.Convert(web(), rollout.Options{})
	r.Spec.Replicas = ptr.To[int32](1)
	r.Spec.Strategy.Canary.MaxSurge = ptr.To(intstr.FromInt32(0))
	r.Spec.Strategy.Canary.MaxUnavailable = ptr.To(intstr.FromString("1"))
	r.Spec.Strategy.Canary.Steps = []rollout.Step{rollout.SetWeight(101), rollout.PauseFor(500 * time.Millisecond)}

	for _, err := range rollout.Validate(r) {
		fmt.Println(err.Field)
	}
	// Output:
	// spec.strategy.canary.maxUnavailable
	// spec.strategy.canary.steps[0].setWeight
	// spec.strategy.canary.steps[1].pause.duration
}

// The controller carries this out, and all pods are replaced before the pause.
func ExampleRollout_Warnings() {
	r, _ := rollout.Convert(web(), rollout.Options{})
	r.Spec.Strategy.Canary.Steps = []rollout.Step{rollout.SetWeight(100), rollout.PauseManual()}

	fmt.Println(len(rollout.Validate(r)), r.Warnings()[0].Field)
	// Output: 0 spec.strategy.canary.steps[0].setWeight
}

func ExampleRollout_Counts() {
	r, _ := rollout.Convert(web(), rollout.Options{})
	for _, replicas := range []int32{1, 5, 7} {
		r.Spec.Replicas = &replicas
		canary, stable := r.Counts(20)
		fmt.Printf("of %d: %d new, %d old\n", replicas, canary, stable)
	}
	// Output:
	// of 1: 1 new, 1 old
	// of 5: 1 new, 4 old
	// of 7: 2 new, 6 old
}

func ExampleRollout_Unstructured() {
	r, _ := rollout.Convert(web(), rollout.Options{})
	u, err := r.Unstructured()
	fmt.Println(u.GetKind(), u.GetName(), err)
	// Output: Rollout web <nil>
}

func ExampleSetWeight() {
	step, _ := json.Marshal(rollout.SetWeight(20))
	fmt.Println(string(step))
	// Output: {"setWeight":20}
}

func ExamplePauseManual() {
	step, _ := json.Marshal(rollout.PauseManual())
	fmt.Println(string(step))
	// Output: {"pause":{}}
}

func ExamplePauseFor() {
	step, _ := json.Marshal(rollout.PauseFor(10 * time.Minute))
	fmt.Println(string(step))
	// Output: {"pause":{"duration":"10m0s"}}
}

func ExampleGVK() {
	fmt.Println(rollout.GVK().GroupVersion().WithResource("rollouts"))
	// Output: argoproj.io/v1alpha1, Resource=rollouts
}
