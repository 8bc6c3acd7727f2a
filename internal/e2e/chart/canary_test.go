// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
)

// TestOnIsConvertOfOff: the switch changes what rollout.Convert changes, field
// by field, and the kind that the HPA scales; nothing else.
//
//req:shows R2
func TestOnIsConvertOfOff(t *testing.T) {
	cases := readRows(t, "switch.yaml")
	for name, values := range ciFiles(t) {
		if name != "extras" { // it has no canary: one pod without election, and no pods
			data, err := yaml.YAMLToJSON([]byte(values))
			require.NoError(t, err)
			cases["ci/"+name] = row{Values: data}
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values := string(tc.Values)
			apis := []string{"--api-versions=" + monitorAPI, "--api-versions=" + ruleAPI, "--api-versions=" + rolloutAPI}
			on := render(t, values, append(apis, setBoth(true)...)...)
			off := render(t, values, append(apis, setBoth(false)...)...)
			rollouts := 0
			for key, was := range off {
				switch was.GetKind() {
				case "Deployment":
					rollouts++
					is := on.one(t, "Rollout/"+strings.TrimPrefix(key, "Deployment/"))
					assert.NotContains(t, on, key)
					assertConverted(t, was, is, values)
				case "HorizontalPodAutoscaler":
					want := was.DeepCopy().Object
					ref := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": was.GetName()}
					require.NoError(t, unstructured.SetNestedMap(want, ref, "spec", "scaleTargetRef"))
					assert.Equal(t, want, on.one(t, key).Object)
				default:
					assert.Equal(t, was.Object, on.one(t, key).Object, "no other object changes")
				}
			}
			assert.Equal(t, 2, rollouts)
			assert.Len(t, on, len(off))
		})
	}
}

// setBoth switches both workloads, over the values.
func setBoth(on bool) []string {
	return []string{
		fmt.Sprintf("--set=controllers.progressiveDelivery.enabled=%t", on), fmt.Sprintf("--set=controlPlane.progressiveDelivery.enabled=%t", on),
	}
}

// assertConverted: package rollout makes is from was, with the steps of the
// values.
func assertConverted(t *testing.T, was, is *unstructured.Unstructured, values string) {
	t.Helper()
	d := into[appsv1.Deployment](t, was)
	o := rollout.Options{
		Steps:          canarySteps(t, values, was.GetName()),
		MaxSurge:       d.Spec.Strategy.RollingUpdate.MaxSurge,
		MaxUnavailable: d.Spec.Strategy.RollingUpdate.MaxUnavailable,
		OmitReplicas:   d.Spec.Replicas == nil,
	}
	want, errs := rollout.Convert(d, o)
	require.Empty(t, errs)

	// What is compared is what a typed client sends of either: zero is unset to
	// both.
	wantYAML, err := yaml.Marshal(want)
	require.NoError(t, err)
	isYAML, err := yaml.Marshal(into[rollout.Rollout](t, is))
	require.NoError(t, err)
	assert.YAMLEq(t, string(wantYAML), string(isYAML))
}

// canarySteps are what the values mean for a workload: its own over the global
// ones.
func canarySteps(t *testing.T, values, workload string) []rollout.Step {
	t.Helper()
	type part struct {
		ProgressiveDelivery struct {
			CanarySteps []rollout.Step `json:"canarySteps"`
		} `json:"progressiveDelivery"`
	}
	var v struct {
		part
		Controllers  part `json:"controllers"`
		ControlPlane part `json:"controlPlane"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(values), &v))
	own := v.ControlPlane
	if strings.HasSuffix(workload, "-controllers") {
		own = v.Controllers
	}
	if own.ProgressiveDelivery.CanarySteps != nil {
		return own.ProgressiveDelivery.CanarySteps
	}
	return v.ProgressiveDelivery.CanarySteps
}
