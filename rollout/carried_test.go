// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What the package does not make itself it carries, and checks by upstream's
// rules.
func TestTrafficRouting(t *testing.T) {
	cases := map[string]bad{
		"RouterIsNotChecked":       {"It is carried, and left to the controller.", with(`"nginx":{}`), ""},
		"RouterOfAnyShape":         {"Fields of a router are carried in any shape.", with(`"nginx":"yes","istio":{"x":1}`), ""},
		"DelayIsRight":             {"Here it has an effect.", with(`"nginx":{}`, `"scaleDownDelaySeconds":5`), ""},
		"MaxWeight":                {"Weights up to it.", with(`"nginx":{},"maxTrafficWeight":1000`, `"steps":[{"setWeight":900},{"pause":{}}]`), ""},
		"WeightOverMaxWeight":      {"The weights add up to maxTrafficWeight.", with(`"nginx":{},"maxTrafficWeight":1000`, `"steps":[{"setWeight":1001},{"pause":{}}]`), "steps[0].setWeight"},
		"WeightOverAMaxOfNoNumber": {"Then it is 100.", with(`"nginx":{},"maxTrafficWeight":"x"`, `"steps":[{"setWeight":101},{"pause":{}}]`), "steps[0].setWeight"},
		"MaxWeightOfOne":           {"With a greatest weight of 1 it is all or nothing.", with(`"plugins":{"x":{}},"maxTrafficWeight":1`, `"steps":[{"setWeight":1},{"pause":{}}]`), ""},
		"WeightZeroIsATraffic":     {"No traffic, but a canary behind a header.", with(`"istio":{}`, `"steps":[{"setHeaderRoute":{"name":"r"}},{"setWeight":0},{"pause":{}}]`), ""},
		"ScaleAndHeaderInOneStep":  {"The controller does both.", with(`"istio":{}`, `"steps":[{"setCanaryScale":{"replicas":1},"setHeaderRoute":{"name":"r"}},{"pause":{}}]`), ""},
		"ScaleAndPauseInOneStep":   {"The controller does both.", with(`"istio":{}`, `"steps":[{"setCanaryScale":{"replicas":1},"pause":{}}]`), ""},
		"OthersAreNotChecked":      {"They are carried too.", stepsOf(twenty, `{"experiment":{"templates":[{"name":"x","weight":5}]}}`), ""},
		"PluginIsAWait":            {"It ends the step.", stepsOf(twenty, `{"plugin":{}}`), ""},
		"WeightAndHeaderInOneStep": {"The controller does both.", with(`"istio":{}`, `"steps":[{"setWeight":20,"setHeaderRoute":{"name":"r"}},{"pause":{}}]`), ""},
		"ScaleWithoutRouting":      {"The weight is the scale.", canaryOf(`{"steps":[{"setCanaryScale":{"replicas":1}},{"setWeight":20},{"pause":{}}]}`), "steps[0].setCanaryScale"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := checked(t, tc.patch)
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

func TestConvert_CarriedObjectsThatDoNotFit(t *testing.T) {
	for name, patch := range map[string]string{
		"spec.strategy.canary.replicaProgressThreshold": canaryOf(`{"replicaProgressThreshold":{"type":"Percent","value":4294967346}}`),
		"spec.strategy.canary.steps[1].analysis":        stepsOf(twenty, `{"analysis":{"templates":"x"}}`),
	} {
		assert.Equal(t, []string{name}, paths(checked(t, patch)))
	}
}

func with(router string, more ...string) string {
	return canaryOf(`{` + strings.Join(append([]string{`"trafficRouting":{` + router + `}`}, more...), ",") + `}`)
}
