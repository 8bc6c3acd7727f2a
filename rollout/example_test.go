// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
		Mutate: func(r *rollout.Rollout) {
			r.Spec.Strategy.Canary.CanaryMetadata = map[string]any{"labels": map[string]any{"role": "canary"}}
		},
	})
	fmt.Println(len(r.Spec.Strategy.Canary.Steps), r.Spec.Strategy.Canary.CanaryMetadata, errs)
	// Output: 4 map[labels:map[role:canary]] []
}

// Every error in one call, with its path and the accepted values.
func ExampleConvert_errors() {
	_, errs := rollout.Convert(web(), rollout.Options{
		MaxSurge:       ptr.To(intstr.FromInt32(0)),
		MaxUnavailable: ptr.To(intstr.FromString("1")),
		Steps:          []rollout.Step{rollout.SetWeight(101), rollout.PauseFor(500 * time.Millisecond)},
	})
	for _, err := range errs {
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

	fmt.Println(r.Warnings()[0].Field)
	// Output: spec.strategy.canary.steps[0].setWeight
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

// Argo CD serves the group version, and not the kind.
func ExampleAvailable() {
	discovery := serving(metav1.APIResource{Name: "applications", Kind: "Application"}) // clientset.Discovery()

	err := rollout.Available(discovery)

	fmt.Println(errors.Is(err, rollout.ErrNotInstalled))
	// Output: true
}

func ExampleAddToScheme() {
	scheme := runtime.NewScheme() // of a controller-runtime client

	err := rollout.AddToScheme(scheme)

	fmt.Println(err, scheme.Recognizes(rollout.GVK()))
	// Output: <nil> true
}

func ExamplePhaseOf() {
	r := &rollout.Rollout{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	r.Status = rollout.Status{ObservedGeneration: "1", Phase: rollout.Healthy}

	fmt.Println(rollout.PhaseOf(r, 0))
	// Output: NotObserved the controller has seen generation 1 of 2
}

// atAPause is a Rollout whose canary waits for a person.
func atAPause() *rollout.Rollout {
	r := &rollout.Rollout{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "77"}}
	r.Status = rollout.Status{
		CurrentPodHash: "new", StableRS: "old",
		PauseConditions: []rollout.PauseCondition{{Reason: "CanaryPauseStep"}},
	}
	return r
}

func ExamplePromotePatch() {
	fmt.Println(string(rollout.PromotePatch(atAPause(), false))) // as types.MergePatchType to "status"
	// Output: {"metadata":{"resourceVersion":"77"},"status":{"pauseConditions":null}}
}

func ExampleAbortPatch() {
	fmt.Println(string(rollout.AbortPatch(atAPause()))) // as types.MergePatchType to "status"
	// Output: {"metadata":{"resourceVersion":"77"},"status":{"abort":true}}
}

func ExampleRetryPatch() {
	r := atAPause()
	r.Status.Abort = true
	fmt.Println(string(rollout.RetryPatch(r))) // as types.MergePatchType to "status"
	// Output: {"metadata":{"resourceVersion":"77"},"status":{"abort":false}}
}

func ExampleRolloutList_DeepCopy() {
	list := &rollout.RolloutList{Items: []rollout.Rollout{*atAPause()}}

	fmt.Println(len(list.DeepCopy().Items))
	// Output: 1
}
