// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/rollout"
)

// The server checks the pod of a Deployment; that of a Rollout nobody checks until it runs.
func TestPods(t *testing.T) {
	cases := map[string]bad{
		"NamesOfContainersTwice": {"Once.", podOf(`{"containers":[{"name":"web","image":"x"},{"name":"web","image":"x"}]}`), "containers[1].name"},
		"NameOfAnInitContainer":  {"Once among all.", podOf(`{"initContainers":[{"name":"web","image":"x"}]}`), "initContainers[0].name"},
		"NameIsNone":             {"A DNS label.", one(`"name":"Web_1"`), "containers[0].name"},
		"NameIsMissing":          {"A DNS label.", podOf(`{"containers":[{"image":"x"}]}`), "containers[0].name"},
		"PortOutOfRange":         {"1 to 65535.", one(`"ports":[{"containerPort":65536}]`), "containers[0].ports[0].containerPort"},
		"PortMissing":            {"1 to 65535.", one(`"ports":[{"name":"http"}]`), "containers[0].ports[0].containerPort"},
		"HostPortNegative":       {"1 to 65535.", one(`"ports":[{"containerPort":80,"hostPort":-1}]`), "containers[0].ports[0].hostPort"},
		"PortNameInCapitals":     {"Lower case.", one(`"ports":[{"name":"HTTP","containerPort":80}]`), "containers[0].ports[0].name"},
		"PortNameTwice":          {"Once.", one(`"ports":[{"name":"http","containerPort":80},{"name":"http","containerPort":81}]`), "containers[0].ports[1].name"},
		"PortsWithoutNames":      {"Are not twice.", one(`"ports":[{"containerPort":80},{"containerPort":81}]`), ""},
		"ProtocolInLowerCase":    {"TCP, UDP, SCTP.", one(`"ports":[{"containerPort":80,"protocol":"tcp"}]`), "containers[0].ports[0].protocol"},
		"VariableWithASpace":     {"A name.", one(`"env":[{"name":"A B"}]`), "containers[0].env[0].name"},
		"VariableWithoutName":    {"A name.", one(`"env":[{"value":"x"}]`), "containers[0].env[0].name"},
		"VariableWithADot":       {"Is a name.", one(`"env":[{"name":"a.b-c"},{"name":"_x1"}]`), ""},
		"VariableOfTwoSources":   {"One of both.", one(`"env":[{"name":"A","value":"x","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`), "containers[0].env[0].valueFrom"},
		"MountOfNoVolume":        {"There is none.", one(`"volumeMounts":[{"name":"v","mountPath":"/v"}]`), "containers[0].volumeMounts[0].name"},
		"MountNowhere":           {"Where?", podOf(`{"volumes":[{"name":"v"}],"containers":[{"name":"web","image":"x","volumeMounts":[{"name":"v"}]}]}`), "containers[0].volumeMounts[0].mountPath"},
		"MountsAtOnePlace":       {"One.", podOf(`{"volumes":[{"name":"v"}],"containers":[{"name":"web","image":"x","volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"v","mountPath":"/v"}]}]}`), "containers[0].volumeMounts[1].mountPath"},
		"VolumesOfOneName":       {"One.", podOf(`{"volumes":[{"name":"v"},{"name":"v"}]}`), "volumes[1].name"},
		"VolumeNameIsNone":       {"A DNS label.", podOf(`{"volumes":[{"name":"V"}]}`), "volumes[0].name"},
		"RequestOverLimit":       {"Not more.", one(`"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}`), "containers[0].resources.requests[cpu]"},
		"RequestNegative":        {"Not less than none.", one(`"resources":{"requests":{"cpu":"-1"}}`), "containers[0].resources.requests[cpu]"},
		"LimitNegative":          {"Not less than none.", one(`"resources":{"limits":{"cpu":"-1"}}`), "containers[0].resources.limits[cpu]"},
		"RequestIsTheLimit":      {"Right.", one(`"resources":{"requests":{"cpu":"1000m"},"limits":{"cpu":"1"}}`), ""},
		"RequestOfNothing":       {"Right.", one(`"resources":{"requests":{"cpu":"0"},"limits":{"cpu":"0"}}`), ""},
		"ActiveDeadline":         {"Of Jobs.", podOf(`{"activeDeadlineSeconds":5}`), "activeDeadlineSeconds"},
		"EphemeralContainer":     {"Of running pods.", podOf(`{"ephemeralContainers":[{"name":"x"}]}`), "ephemeralContainers"},
		"ServiceAccountIsNone":   {"A DNS name.", podOf(`{"serviceAccountName":"A b"}`), "serviceAccountName"},
		"AnnotationKeyIsNone":    {"A qualified name.", `{"spec":{"template":{"metadata":{"annotations":{"a b":"x"}}}}}`, "spec.template.metadata.annotations[a b]"},
		"AnnotationsTooLarge":    {"256 KiB in all.", `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10) + `"}}}`, "metadata.annotations"},
		"AnnotationsAtTheLimit":  {"Just right.", `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10-1) + `"}}}`, ""},
		"AnnotationInCapitals":   {"Is a name.", `{"metadata":{"annotations":{"Example.COM/Team":"x"}}}`, ""},
		"LabelKeyIsNone":         {"A qualified name.", `{"metadata":{"labels":{"a/b/c":"x"}}}`, "metadata.labels[a/b/c]"},
		"NamespaceIsNone":        {"A DNS label.", `{"metadata":{"namespace":"a.b"}}`, "metadata.namespace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := rollout.Validate(patched(t, manifest(t, canary(t)), tc.patch))
			var got []string
			for _, path := range paths(errs) {
				got = append(got, strings.TrimPrefix(path, "spec.template.spec."))
			}
			want := []string{}
			if tc.want != "" {
				want = []string{tc.want}
			}
			assert.Equal(t, want, append([]string{}, got...), "%s\n%v", tc.reason, errs)
		})
	}
}

// The values of variables and annotations may be secret.
func TestErrorsTellNoValuesOfVariables(t *testing.T) {
	const secret = "hunter2"
	u := patched(t, manifest(t, canary(t)), one(`"env":[{"name":"A B","value":"`+secret+`","valueFrom":{}},{"name":"PASSWORD","value":"`+secret+`","vale":"`+secret+`"}]`))
	errs := rollout.Validate(u)
	assert.Len(t, errs, 3)
	assert.NotContains(t, errs.ToAggregate().Error(), secret)
	u = patched(t, u, `{"metadata":{"annotations":{"a b":"`+secret+`","c":"`+strings.Repeat(secret, 50000)+`"}}}`)
	assert.NotContains(t, rollout.Validate(u).ToAggregate().Error(), secret)
}

func one(fields string) string {
	if !strings.Contains(fields, `"name":"Web_1"`) {
		fields += `,"name":"web"`
	}
	return podOf(`{"containers":[{"image":"x",` + fields + `}]}`)
}
