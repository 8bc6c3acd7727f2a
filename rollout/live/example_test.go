// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// Argo CD serves the group version, and not the kind.
func ExampleAvailable() {
	discovery := serving(metav1.APIResource{Name: "applications", Kind: "Application"}) // clientset.Discovery()

	err := live.Available(discovery)

	fmt.Println(errors.Is(err, live.ErrNotInstalled))
	// Output: true
}

func ExamplePreflight() {
	rollouts := patcher(func(string, types.PatchType, []byte, metav1.PatchOptions, []string) error {
		return errors.New("admission webhook says no")
	}) // dyn.Resource(live.GVR()).Namespace("shop")
	templates := creator(func(*unstructured.Unstructured, metav1.CreateOptions) error { return nil }) // dyn.Resource(podTemplates).Namespace("shop")

	err := live.Preflight(context.Background(), rollouts, templates, ro(), "my-deployer")

	fmt.Println(err)
	// Output: rollout/live: preflight: admission webhook says no
}

// Each reference that leads nowhere, with its path.
func ExampleReferences() {
	r := ro()
	r.Spec.Strategy.Canary = &rollout.Canary{StableService: "web-stable", Steps: []rollout.Step{
		rollout.SetWeight(20), {Analysis: map[string]any{"templates": []any{map[string]any{"templateName": "errors"}}}},
	}}
	get := func(_ context.Context, gvr schema.GroupVersionResource, _, name string) (*unstructured.Unstructured, error) {
		return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
	} // dyn.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})

	for _, e := range live.References(context.Background(), r, get, "") {
		fmt.Println(e)
	}
	// Output:
	// spec.strategy.canary.stableService: Not found: "web-stable": there is no such Service in namespace shop; create it before the Rollout
	// spec.strategy.canary.steps[1].analysis.templates[0].templateName: Not found: "errors": there is no such AnalysisTemplate in namespace shop; create it before the Rollout
}

func ExamplePhaseOf() {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generation": int64(2)},
		"status":   map[string]any{"observedGeneration": "1", "phase": "Healthy"},
	}}
	fmt.Println(live.PhaseOf(u))
	// Output: NotObserved the controller has seen generation 1 of 2
}

func ExamplePromotePatch() {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"resourceVersion": "77"},
		"status": map[string]any{
			"currentPodHash": "new", "stableRS": "old", "pauseConditions": []any{map[string]any{"reason": "CanaryPauseStep"}},
		},
	}}
	fmt.Println(string(live.PromotePatch(u, false)))
	// Output: {"metadata":{"resourceVersion":"77"},"status":{"pauseConditions":null}}
}

func ExampleAbortPatch() {
	fmt.Println(string(live.AbortPatch())) // as types.MergePatchType to "status"
	// Output: {"status":{"abort":true}}
}

func ExampleGVR() {
	fmt.Println(live.GVR())
	// Output: argoproj.io/v1alpha1, Resource=rollouts
}
