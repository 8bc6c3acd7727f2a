// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
)

// schema is the CRD of Rollout cut down to what the tests set.
const schema = `{"properties":{"spec":{"type":"object","properties":{
  "replicas":{}, "selector":{"properties":{"matchLabels":{"additionalProperties":{"type":"string"}}}},
  "strategy":{"properties":{"canary":{"properties":{
    "maxSurge":{"x-kubernetes-int-or-string":true}, "maxUnavailable":{"x-kubernetes-int-or-string":true},
    "trafficRouting":{"properties":{"plugins":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
    "steps":{"items":{"properties":{"setWeight":{},"pause":{"properties":{"duration":{}}}}}}}}}},
  "template":{"properties":{
    "metadata":{"properties":{"labels":{"additionalProperties":{"type":"string"}}}},
    "spec":{"properties":{
      "nodeSelector":{"additionalProperties":true},
      "containers":{"items":{"properties":{"name":{},"image":{},"resources":{"x-kubernetes-preserve-unknown-fields":true,"properties":{"limits":{"properties":{}}}}}}}}}}}}}}}`

func TestPrunedFields(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*rollout.Rollout)
		want   []string
	}{
		"Nothing": {"The safe canary is kept whole.", func(*rollout.Rollout) {}, nil},
		"PodFieldOfANewerKubernetes": {"A Deployment keeps it, the CRD does not.", func(r *rollout.Rollout) {
			r.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
			r.Spec.Template.Spec.HostAliases = []corev1.HostAlias{{IP: "1.2.3.4"}}
		}, []string{"spec.template.spec.hostAliases", "spec.template.spec.resourceClaims"}},
		"WithinALIst": {"With its index.", func(r *rollout.Rollout) {
			r.Spec.Template.Spec.Containers = append(r.Spec.Template.Spec.Containers, corev1.Container{Name: "b", Image: "b", WorkingDir: "/"})
		}, []string{"spec.template.spec.containers[1].workingDir"}},
		"Unpreserved": {"Known fields within what preserves unknown ones are looked into.", func(r *rollout.Rollout) {
			r.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"cpu": {}}
			r.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": {}}
		}, []string{"spec.template.spec.containers[0].resources.limits.cpu"}},
		"PreservedAndMaps": {"Kept.", func(r *rollout.Rollout) {
			r.Spec.Template.Spec.NodeSelector = map[string]string{"a": "b"}
			r.Spec.Strategy.Canary.TrafficRouting = map[string]any{"plugins": map[string]any{"x": map[string]any{"y": 1}}}
		}, nil},
		"OfTheCanary": {"Of an older CRD.", func(r *rollout.Rollout) {
			r.Spec.Strategy.Canary.MinPodsPerReplicaSet = ptr.To[int32](2)
			r.Spec.Strategy.Canary.Steps[0].Plugin = map[string]any{"name": "x"}
		}, []string{"spec.strategy.canary.minPodsPerReplicaSet", "spec.strategy.canary.steps[0].plugin"}},
		"MetadataIsKept": {"The server keeps metadata.", func(r *rollout.Rollout) { r.Annotations = map[string]string{"a": "b"} }, nil},
	}
	crd := `{"kind":"CustomResourceDefinition","spec":{"versions":[{"name":"v1","schema":{}},{"name":"v1alpha1","schema":{"openAPIV3Schema":` + schema + `}}]}}`
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := canary(t)
			tc.change(r)
			for _, s := range []string{schema, crd} {
				got, err := r.PrunedFields(decoded(t, s))
				require.NoError(t, err, tc.reason)
				assert.Equal(t, tc.want, got, tc.reason)
			}
		})
	}
}

func TestPrunedFields_NeedsASchema(t *testing.T) {
	for name, s := range map[string]string{
		"Empty": `{}`, "OtherVersion": `{"kind":"CustomResourceDefinition","spec":{"versions":[{"name":"v1"}]}}`,
		"NotACRD": `{"kind":"CustomResourceDefinition","spec":{"versions":3}}`, "NoSpec": `{"properties":{"status":{}}}`,
	} {
		_, err := canary(t).PrunedFields(decoded(t, s))
		require.ErrorContains(t, err, "CustomResourceDefinition", name)
	}
	_, err := canary(t).PrunedFields(nil)
	require.Error(t, err)
	_, err = (*rollout.Rollout)(nil).PrunedFields(decoded(t, schema))
	require.Error(t, err)
}

func decoded(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(s), &m))
	return m
}
