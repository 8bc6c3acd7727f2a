// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
)

const deploymentFile = "testdata/deployment.yaml"

// printed is what "cmd manifests" prints. No field of it is unknown to T.
func printed[T any](t *testing.T, lookup func(string) (string, bool)) T {
	t.Helper()
	var stdout bytes.Buffer
	require.NoError(t, manifests(lookup, &stdout, deploymentFile))
	var out T
	require.NoError(t, yaml.UnmarshalStrict(stdout.Bytes(), &out))
	assert.NotContains(t, stdout.String(), "status:")
	return out
}

// TestManifests_PrintsACanaryIfAsked by the environment. Nothing but kind and
// strategy differs.
//
//req:shows R1 R2
func TestManifests_PrintsACanaryIfAsked(t *testing.T) {
	const on = "JANGAR_PROGRESSIVE_DELIVERY_ENABLED=true"
	off := printed[appsv1.Deployment](t, environ())
	text, err := os.ReadFile(deploymentFile)
	require.NoError(t, err)
	var read appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict(text, &read))
	assert.Equal(t, read, off, "off is the Deployment that was read")

	is := printed[rollout.Rollout](t, environ(on))
	require.NotEmpty(t, is.Spec.Strategy.Canary.Steps)
	assert.EqualValues(t, 20, *is.Spec.Strategy.Canary.Steps[0].SetWeight, "the safe canary")
	assert.Equal(t, "Rollout", is.Kind)
	assert.Equal(t, off.ObjectMeta, is.ObjectMeta)
	assert.Equal(t, off.Spec.Selector, is.Spec.Selector)
	assert.Equal(t, &off.Spec.Template, is.Spec.Template)
	assert.Equal(t, off.Spec.Replicas, is.Spec.Replicas)
}

func TestManifests_RefusesWrongSettings(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    []string
		args   []string
		want   string
	}{
		"NoFile":   {"There is nothing to print.", nil, nil, "want one file"},
		"TwoFiles": {"The output is one object.", nil, []string{deploymentFile, deploymentFile}, "want one file"},
		"NotThere": {"The file is named.", nil, []string{"none.yaml"}, "none.yaml"},
		"Another":  {"The file is named.", nil, []string{"manifests.go"}, "manifests.go is not one Deployment"},
		"Switch": {
			"It is neither on nor off.",
			[]string{"JANGAR_PROGRESSIVE_DELIVERY_ENABLED=maybe"},
			[]string{deploymentFile},
			"JANGAR_PROGRESSIVE_DELIVERY_ENABLED",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stdout bytes.Buffer
			require.ErrorContains(t, manifests(environ(tc.env...), &stdout, tc.args...), tc.want, tc.reason)
			assert.Empty(t, stdout.String())
		})
	}
}
