// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/rollout"
)

// A number that is too large for its field is refused where it stands, and not taken for what is left of it in 32 bits.
func TestNumbersThatDoNotFit(t *testing.T) {
	const services = `"canaryService":"c","stableService":"s"`
	antiAffinity := func(weight string) string {
		return canaryOf(`{"antiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":{"weight":` + weight + `}}}`)
	}
	const pod, inCanary = "spec.template.spec.", "spec.strategy.canary."
	cases := map[string]bad{
		"Port":              {"Not 80.", podOf(`{"containers":[{"name":"a","image":"x"},{"name":"web","image":"x","ports":[{"containerPort":4294967376}]}]}`), pod + "containers[1].ports[0].containerPort"},
		"PortThatIsZero":    {"Not one that was left out.", podOf(`{"containers":[{"name":"web","image":"x","ports":[{"containerPort":4294967296}]}]}`), pod + "containers[0].ports[0].containerPort"},
		"InAnInlineStruct":  {"Of a probe.", podOf(`{"containers":[{"name":"web","image":"x","readinessProbe":{"exec":{"command":["x"]},"grpc":null,"periodSeconds":4294967306}}]}`), pod + "containers[0].readinessProbe.periodSeconds"},
		"InlineSource":      {"Of a volume.", podOf(`{"volumes":[{"name":"v","secret":{"secretName":"s","defaultMode":4294967716}}]}`), pod + "volumes[0].secret.defaultMode"},
		"BeyondAllNumbers":  {"Not even 64 bits.", podOf(`{"terminationGracePeriodSeconds":18446744073709551646}`), pod + "terminationGracePeriodSeconds"},
		"Negative":          {"The other end.", podOf(`{"priority":-4294967295}`), pod + "priority"},
		"WideUser":          {"It has 64 bits.", podOf(`{"securityContext":{"runAsUser":4294967000}}`), ""},
		"WideMemory":        {"A quantity.", podOf(`{"containers":[{"name":"web","image":"x","resources":{"limits":{"memory":17179869184}}}]}`), ""},
		"AntiAffinity":      {"Not 80.", antiAffinity("4294967376"), inCanary + "antiAffinity.preferredDuringSchedulingIgnoredDuringExecution.weight"},
		"MaxTrafficWeight":  {"Not 100, and no other complaint.", with(`"nginx":{},"maxTrafficWeight":4294967396`, services, `"steps":[{"setWeight":900},{"pause":{}}]`), inCanary + "trafficRouting.maxTrafficWeight"},
		"MaxTrafficWeight2": {"As a float.", with(`"nginx":{},"maxTrafficWeight":1e30`, services, `"steps":[{"setWeight":900},{"pause":{}}]`), inCanary + "trafficRouting.maxTrafficWeight"},
		"Threshold":         {"Not 50.", canaryOf(`{"replicaProgressThreshold":{"type":"Percent","value":4294967346}}`), inCanary + "replicaProgressThreshold.value"},
		"Replicas":          {"Not 5.", `{"spec":{"replicas":4294967301}}`, "spec.replicas"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := rollout.Validate(patched(t, manifest(t, canary(t)), tc.patch))
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			assert.Equal(t, want, paths(errs), "%s\n%v", tc.reason, errs)
		})
	}
}
