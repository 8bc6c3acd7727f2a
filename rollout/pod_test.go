// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/rollout"
)

// The server checks the pod of a Deployment; that of a Rollout nobody checks
// until it runs.
func TestPods(t *testing.T) {
	cases := map[string]bad{
		"InitWithoutImage":      {"It runs one too.", podOf(`{"initContainers":[{"name":"init"}]}`), "initContainers[0].image"},
		"MountOfNoVolume":       {"The server knows the rules for pods.", one(`"volumeMounts":[{"name":"v","mountPath":"/v"}]`), ""},
		"ActiveDeadline":        {"Of Jobs.", podOf(`{"activeDeadlineSeconds":5}`), "activeDeadlineSeconds"},
		"AnnotationKeyIsNone":   {"A qualified name.", `{"spec":{"template":{"metadata":{"annotations":{"a b":"x"}}}}}`, "spec.template.metadata.annotations[a b]"},
		"AnnotationsTooLarge":   {"256 KiB in all.", `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10) + `"}}}`, "metadata.annotations"},
		"AnnotationsAtTheLimit": {"Just right.", `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10-1) + `"}}}`, ""},
		"AnnotationInCapitals":  {"Is a name.", `{"metadata":{"annotations":{"Example.COM/Team":"x"}}}`, ""},
		"LabelKeyIsNone":        {"A qualified name.", `{"metadata":{"labels":{"a/b/c":"x"}}}`, "metadata.labels[a/b/c]"},
		"NamespaceIsNone":       {"A DNS label.", `{"metadata":{"namespace":"a.b"}}`, "metadata.namespace"},
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
func TestValidate_HidesValuesOfVariables(t *testing.T) {
	const secret = "hunter2"
	u := patched(t, manifest(t, canary(t)), one(`"env":[{"name":7,"value":"`+secret+`"},{"name":"PASSWORD","value":"`+secret+`","vale":"`+secret+`"}],"image":{"a":"`+secret+`"}`))
	errs := rollout.Validate(u)
	assert.Equal(t, []string{"spec.template.spec.containers[0].env[0].name", "spec.template.spec.containers[0].env[1].vale", "spec.template.spec.containers[0].image"}, paths(errs))
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
