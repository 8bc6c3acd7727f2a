// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The server checks the pod of a Deployment, and not the pod of a Rollout
// until it runs.
func TestPods(t *testing.T) {
	cases := map[string]bad{
		"InitWithoutImage":      {"It runs one too.", podOf(`{"initContainers":[{"name":"init"}]}`), "initContainers[0].image"},
		"MountOfNoVolume":       {"The server knows the rules for pods.", one(`"volumeMounts":[{"name":"v","mountPath":"/v"}]`), ""},
		"ActiveDeadline":        {"activeDeadlineSeconds is for Jobs.", podOf(`{"activeDeadlineSeconds":5}`), "activeDeadlineSeconds"},
		"RestartPolicyAlways":   {"A server fills it in.", podOf(`{"restartPolicy":"Always"}`), ""},
		"AnnotationKeyIsNone":   {"The key of an annotation is a qualified name.", `{"spec":{"template":{"metadata":{"annotations":{"a b":"x"}}}}}`, "spec.template.metadata.annotations"},
		"AnnotationsTooLarge":   {"256 KiB in all.", `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10) + `"}}}`, "metadata.annotations"},
		"AnnotationsAtTheLimit": {"Annotations of the greatest size are accepted.", `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10-1) + `"}}}`, ""},
		"AnnotationInCapitals":  {"Capitals make a qualified name.", `{"metadata":{"annotations":{"Example.COM/Team":"x"}}}`, ""},
		"LabelKeyIsNone":        {"The key of a label is a qualified name.", `{"metadata":{"labels":{"a/b/c":"x"}}}`, "metadata.labels[a/b/c]"},
		"NamespaceIsNone":       {"A namespace is a DNS label.", `{"metadata":{"namespace":"a.b"}}`, "metadata.namespace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := checked(t, tc.patch)
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
func TestConvert_HidesValuesOfVariables(t *testing.T) {
	const secret = "hunter2"
	errs := checked(t, one(`"env":[{"name":"A","value":"`+secret+`","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`))
	errs = append(errs, checked(t, `{"metadata":{"annotations":{"a b":"`+secret+`","c":"`+strings.Repeat(secret, 50000)+`"}}}`)...)
	assert.NotEmpty(t, errs)
	assert.NotContains(t, errs.ToAggregate().Error(), secret)
}

// TestConvert_ChecksWhereVariablesComeFrom, as upstream's validation does.
func TestConvert_ChecksWhereVariablesComeFrom(t *testing.T) {
	const from = "spec.template.spec.containers[0].env[0].valueFrom"
	for valueFrom, want := range map[string][]string{
		`{"fieldRef":{"fieldPath":"metadata.name"}}`:               nil,
		`{"fieldRef":{"fieldPath":"status.hostIPs"}}`:              nil,
		`{"fieldRef":{"fieldPath":"metadata.annotations['a/b']"}}`: nil,
		`{"fieldRef":{"fieldPath":"metadata.labels['a/b']"}}`:      nil,
		`{"secretKeyRef":{"name":"s","key":"k"}}`:                  nil,
		`{"fieldRef":{"fieldPath":"spec.dnsPolicy"}}`:              {from + ".fieldRef.fieldPath"},
		`{"fieldRef":{"fieldPath":"metadata.annotations"}}`:        {from + ".fieldRef.fieldPath"},
		`{"fieldRef":{"fieldPath":"metadata.labels['a/b"}}`:        {from + ".fieldRef.fieldPath"},
		`{"fieldRef":{"fieldPath":"spec.nodeSelector['a/b']"}}`:    {from + ".fieldRef.fieldPath"},
		`{}`: {from},
		`{"fieldRef":{"fieldPath":"metadata.name"},"secretKeyRef":{"name":"s","key":"k"}}`: {from},
	} {
		assert.Equal(t, want, paths(checked(t, one(`"env":[{"name":"A","valueFrom":`+valueFrom+`}]`))), valueFrom)
	}
	both := checked(t, one(`"env":[{"name":"A","value":"x","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}}]`))
	assert.Equal(t, []string{from}, paths(both))
}

func one(fields string) string {
	if !strings.Contains(fields, `"name":"Web_1"`) {
		fields += `,"name":"web"`
	}
	return podOf(`{"containers":[{"image":"x",` + fields + `}]}`)
}
