// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/rollout"
)

// TestTypes_HaveEachFieldOfTheCRD, so that a client that reads a Rollout loses
// nothing of its spec. Of the status they have only fields that the CRD has.
//
//req:shows R2
func TestTypes_HaveEachFieldOfTheCRD(t *testing.T) {
	t.Parallel()
	source, err := build.ArgoRolloutsSource(t.Context())
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(source, "manifests", "crds", "rollout-crd.yaml"))
	require.NoError(t, err)
	var crd map[string]any
	require.NoError(t, yaml.Unmarshal(text, &crd))
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	require.NoError(t, err)
	require.Len(t, versions, 1)
	schema := versions[0].(map[string]any)
	properties := func(path ...string) []string {
		names := []string{"schema", "openAPIV3Schema"}
		for _, name := range path {
			if name == "[]" {
				names = append(names, "items")
				continue
			}
			names = append(names, "properties", name)
		}
		found, _, err := unstructured.NestedMap(schema, append(names, "properties")...)
		require.NoError(t, err)
		require.NotEmpty(t, found, path)
		return slices.Sorted(maps.Keys(found))
	}
	assert.Equal(t, properties("spec"), fields[rollout.Spec]())
	assert.Equal(t, properties("spec", "strategy"), fields[rollout.Strategy]())
	assert.Equal(t, properties("spec", "strategy", "canary"), fields[rollout.Canary]())
	assert.Equal(t, properties("spec", "strategy", "canary", "steps", "[]"), fields[rollout.Step]())
	assert.Equal(t, properties("spec", "strategy", "canary", "steps", "[]", "pause"), fields[rollout.Pause]())
	assert.Equal(t, properties("status", "pauseConditions", "[]"), fields[rollout.PauseCondition]())
	assert.Subset(t, properties("status"), fields[rollout.Status]())
}

// fields are the JSON names of the fields of a struct.
func fields[T any]() []string {
	var names []string
	for field := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
