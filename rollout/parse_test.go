// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/rollout"
)

// TestValidate_WrongTypes: a decoder stops at the first, and cuts a port of
// 4294967376 to 80.
func TestValidate_WrongTypes(t *testing.T) {
	const pod = "spec.template.spec."
	cases := map[string]struct {
		reason string
		patch  string
		want   []string
	}{
		"Port":         {"Not 80.", podOf(`{"containers":[{"name":"a","image":"x"},{"name":"web","image":"x","ports":[{"containerPort":4294967376}]}]}`), []string{pod + "containers[1].ports[0].containerPort"}},
		"InlineStruct": {"Of a probe.", podOf(`{"containers":[{"name":"web","image":"x","readinessProbe":{"exec":{"command":["x"]},"grpc":null,"periodSeconds":4294967306}}]}`), []string{pod + "containers[0].readinessProbe.periodSeconds"}},
		"InlineSource": {"Of a volume.", podOf(`{"volumes":[{"name":"v","secret":{"secretName":"s","defaultMode":4294967716}}]}`), []string{pod + "volumes[0].secret.defaultMode"}},
		"BeyondInt64":  {"Not even 64 bits.", podOf(`{"terminationGracePeriodSeconds":18446744073709551646}`), []string{pod + "terminationGracePeriodSeconds"}},
		"Negative":     {"The other end.", podOf(`{"priority":-4294967295}`), []string{pod + "priority"}},
		"WideUser":     {"It has 64 bits.", podOf(`{"securityContext":{"runAsUser":4294967000}}`), nil},
		"WideMemory":   {"A quantity.", podOf(`{"containers":[{"name":"web","image":"x","resources":{"limits":{"memory":17179869184}}}]}`), nil},
		"Quantity":     {"No number.", podOf(`{"containers":[{"name":"web","image":"x","resources":{"limits":{"memory":"much"}}}]}`), []string{pod + "containers[0].resources.limits.memory"}},
		"Replicas":     {"Not 5.", `{"spec":{"replicas":4294967301}}`, []string{"spec.replicas"}},
		"Time":         {"A date.", `{"spec":{"restartAt":"tomorrow"}}`, []string{"spec.restartAt"}},
		"Several": {"All in one call, and the unknown ones too.", `{"spec":{"replicas":"x","paused":1,"pauzed":true,"selector":[],"strategy":{"canary":{"maxSurge":true,"steps":[{"setWeight":"20"},{"pause":[]}]}}}}`, []string{
			"spec.paused", "spec.pauzed", "spec.replicas", "spec.selector", "spec.strategy.canary.maxSurge",
			"spec.strategy.canary.steps[0].setWeight", "spec.strategy.canary.steps[1].pause",
		}},
		"Case": {"Names have one case.", `{"spec":{"Replicas":3}}`, []string{"spec.Replicas"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := rollout.Validate(patched(t, manifest(t, canary(t)), tc.patch))
			assert.Equal(t, tc.want, paths(errs), "%s\n%v", tc.reason, errs)
		})
	}
}
