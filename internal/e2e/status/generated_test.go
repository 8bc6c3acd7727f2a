// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/status"
)

// TestControllerGenMakesTheRules: the markers of the documentation, copied to
// the type of Probe, generate exactly Rules.
func TestControllerGenMakesTheRules(t *testing.T) {
	documented := markers(t, filepath.Join("..", "..", "..", "status", "rules.go"))
	require.NotEmpty(t, documented)
	assert.Equal(t, documented, markers(t, filepath.Join("kinds", "probe.go")), "copied without a change")

	dir := t.TempDir()
	tools, err := filepath.Abs(filepath.Join("..", "..", "tools", "go.mod"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile="+tools, "controller-gen",
		"object:headerFile=header.txt", "crd", "paths=.", "output:dir="+dir)
	cmd.Dir = "kinds"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, made, 2)
	for _, file := range made {
		want, err := os.ReadFile(filepath.Join(dir, file.Name()))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("kinds", file.Name()))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "go generate ./... brings it up to date")
	}

	raw, err := os.ReadFile(filepath.Join(dir, "status.e2e.controllerkit.dev_probes.yaml"))
	require.NoError(t, err)
	crd := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(raw, &crd.Object))
	assert.Equal(t, status.Rules(status.FieldNames{}), rulesOf(t, crd))
}

// markers returns the rules' markers in a Go file, also from a nested comment.
func markers(t *testing.T, path string) (found []string) {
	t.Helper()
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(source)) {
		if _, marker, ok := strings.Cut(line, "+kubebuilder:validation:XValidation:"); ok {
			found = append(found, strings.TrimSpace(marker))
		}
	}
	return found
}

// rulesOf returns the rules at the root of the schema, and checks that no
// others are below.
func rulesOf(t *testing.T, crd *unstructured.Unstructured) (rules []status.Rule) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	require.NoError(t, err)
	require.Len(t, versions, 1)
	root, _, err := unstructured.NestedMap(versions[0].(object), "schema", "openAPIV3Schema")
	require.NoError(t, err)
	for _, v := range root["x-kubernetes-validations"].([]any) {
		require.Len(t, v, 2, "a rule and its message")
		rules = append(rules, status.Rule{Rule: v.(object)["rule"].(string), Message: v.(object)["message"].(string)})
	}
	delete(root, "x-kubernetes-validations")
	below, err := yaml.Marshal(root)
	require.NoError(t, err)
	assert.NotContains(t, string(below), "x-kubernetes-validations")
	return rules
}
