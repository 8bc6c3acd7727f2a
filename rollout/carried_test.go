// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
)

// What the package does not make itself it carries, and checks by upstream's
// rules.
func TestTrafficRouting(t *testing.T) {
	cases := map[string]bad{
		"RouterIsNotChecked":       {"It is carried, and left to the controller.", with(`"nginx":{}`), ""},
		"RouterOfAnyShape":         {"Its fields too.", with(`"nginx":"yes","istio":{"x":1}`), ""},
		"DelayIsRight":             {"Here it has an effect.", with(`"nginx":{}`, `"scaleDownDelaySeconds":5`), ""},
		"MaxWeight":                {"Weights up to it.", with(`"nginx":{},"maxTrafficWeight":1000`, `"steps":[{"setWeight":900},{"pause":{}}]`), ""},
		"WeightOverMaxWeight":      {"The weights add up to maxTrafficWeight.", with(`"nginx":{},"maxTrafficWeight":1000`, `"steps":[{"setWeight":1001},{"pause":{}}]`), "steps[0].setWeight"},
		"WeightOverAMaxOfNoNumber": {"Then it is 100.", with(`"nginx":{},"maxTrafficWeight":"x"`, `"steps":[{"setWeight":101},{"pause":{}}]`), "steps[0].setWeight"},
		"MaxWeightOfOne":           {"All or nothing.", with(`"plugins":{"x":{}},"maxTrafficWeight":1`, `"steps":[{"setWeight":1},{"pause":{}}]`), ""},
		"WeightZeroIsATraffic":     {"No traffic, but a canary behind a header.", with(`"istio":{}`, `"steps":[{"setHeaderRoute":{"name":"r"}},{"setWeight":0},{"pause":{}}]`), ""},
		"ScaleAndHeaderInOneStep":  {"The controller does both.", with(`"istio":{}`, `"steps":[{"setCanaryScale":{"replicas":1},"setHeaderRoute":{"name":"r"}},{"pause":{}}]`), ""},
		"ScaleAndPauseInOneStep":   {"The controller does both.", with(`"istio":{}`, `"steps":[{"setCanaryScale":{"replicas":1},"pause":{}}]`), ""},
		"OthersAreNotChecked":      {"They are carried too.", stepsOf(twenty, `{"experiment":{"templates":[{"name":"x","weight":5}]}}`, `{"plugin":{}}`), ""},
		"ScaleWithoutRouting":      {"The weight is the scale.", canaryOf(`{"steps":[{"setCanaryScale":{"replicas":1}},{"setWeight":20},{"pause":{}}]}`), "steps[0].setCanaryScale"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := rollout.Validate(patched(t, manifest(t, canary(t)), tc.patch))
			var got []string
			for _, path := range paths(errs) {
				got = append(got, strings.TrimPrefix(path, "spec.strategy.canary."))
			}
			assert.Equal(t, strings.Fields(tc.want), append([]string{}, got...), "%s\n%v", tc.reason, errs)
			seen := map[string]bool{}
			for _, e := range errs {
				assert.False(t, seen[e.Error()], "said twice: %v", e)
				seen[e.Error()] = true
			}
		})
	}
}

func TestValidate_CarriedObjectsOfWrongTypes(t *testing.T) {
	for name, patch := range map[string]string{
		"spec.strategy.canary.pingPong":                       canaryOf(`{"trafficRouting":{"plugins":{"x":{}}},"pingPong":"x"}`),
		"spec.strategy.canary.replicaProgressThreshold.type":  canaryOf(`{"replicaProgressThreshold":{"type":1}}`),
		"spec.strategy.canary.replicaProgressThreshold.value": canaryOf(`{"replicaProgressThreshold":{"type":"Percent","value":4294967346}}`),
		"spec.strategy.canary.steps[1].analysis.templates":    stepsOf(twenty, `{"analysis":{"templates":"x"}}`),
		"spec.strategy.canary.trafficRouting":                 canaryOf(`{"trafficRouting":[]}`),
		"spec.strategy.blueGreen":                             `{"spec":{"strategy":{"canary":null,"blueGreen":1}}}`,
	} {
		assert.Contains(t, paths(rollout.Validate(patched(t, manifest(t, canary(t)), patch))), name)
	}
}

func TestValidate_OfOtherObjects(t *testing.T) {
	assert.Equal(t, []string{"rollout"}, paths(rollout.Validate(nil)))
	assert.Equal(t, []string{"rollout"}, paths(rollout.Validate((*rollout.Rollout)(nil))))
	assert.Equal(t, []string{"rollout"}, paths(rollout.Validate((*unstructured.Unstructured)(nil))))
	assert.Equal(t, []string{"kind"}, paths(rollout.Validate(web())))
	assert.NotEmpty(t, rollout.Validate(new(unstructured.Unstructured)))
	assert.NotEmpty(t, rollout.Validate(new(rollout.Rollout)))
}

// A live Rollout is checked with its status, which is ignored.
func TestValidate_OfALiveRollout(t *testing.T) {
	u := patched(t, manifest(t, canary(t)), `{"metadata":{"uid":"u","resourceVersion":"7","generation":3,"creationTimestamp":"2026-01-02T03:04:05Z"},"status":{"phase":"Healthy"}}`)
	before := u.DeepCopy()
	assert.Empty(t, rollout.Validate(u))
	assert.Equal(t, before, u)
}

// What Go types before k8s.io/api v0.34 write is refused by server-side apply,
// which declares no such field.
func TestValidate_CreationTimestampOfNull(t *testing.T) {
	u := manifest(t, canary(t))
	template := at(u.Object, "spec", "template", "metadata").(map[string]any)
	template["creationTimestamp"] = nil
	assert.Equal(t, []string{"spec.template.metadata.creationTimestamp"}, paths(rollout.Validate(u)))
}

func with(router string, more ...string) string {
	return canaryOf(`{` + strings.Join(append([]string{`"trafficRouting":{` + router + `}`}, more...), ",") + `}`)
}
