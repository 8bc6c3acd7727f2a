// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The first and the last value that is right, and the first that is not.
func TestLimits(t *testing.T) {
	for name, tc := range map[string]bad{
		"FencesAtTheirMost":        {"100% is the most that can be unavailable.", canaryOf(`{"maxSurge":"250%","maxUnavailable":"100%"}`), ""},
		"MoreThanAllUnavailable":   {"As of a Deployment.", canaryOf(`{"maxUnavailable":"101%"}`), "spec.strategy.canary.maxUnavailable"},
		"FencesNotSet":             {"They are 25% to the controller.", canaryOf(`{"maxSurge":null,"maxUnavailable":null}`), ""},
		"WeightsAtTheirLimits":     {"Weights of 1 and 99 run something of each.", stepsOf(`{"setWeight":1}`, manual, `{"setWeight":99}`, manual), ""},
		"PauseIsOneSecond":         {"The shortest there is.", pauseOf(`1`), ""},
		"PauseIsTheLongest":        {"The most that 32 bits hold.", pauseOf(`2147483647`), ""},
		"DeadlineAndReadyNegative": {"Each is an error.", `{"spec":{"minReadySeconds":-5,"progressDeadlineSeconds":-3}}`, "spec.minReadySeconds spec.progressDeadlineSeconds"},
		"ThresholdOfOnePod":        {"The least, and all there will be.", canaryOf(`{"replicaProgressThreshold":{"type":"Pods","value":1}}`), ""},
		"ThresholdOfAllPods":       {"100 % is the greatest threshold.", canaryOf(`{"replicaProgressThreshold":{"type":"Percent","value":100}}`), ""},
		"ThresholdOfMoreThanAll":   {"A threshold above 100 % is refused.", canaryOf(`{"replicaProgressThreshold":{"type":"Percent","value":101}}`), "spec.strategy.canary.replicaProgressThreshold.value"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := checked(t, tc.patch)
			assert.Equal(t, strings.Fields(tc.want), append([]string{}, paths(errs)...), "%s\n%v", tc.reason, errs)
		})
	}
}
