// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yannh/kubeconform/pkg/validator"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"
)

// sources are the modules with the sources of the schemas, and the build
// modules that pin them.
var sources = map[string]string{
	"k8s.io/kubernetes":                                  "../../controlplane/build/kubernetes",
	"github.com/argoproj/argo-rollouts":                  "../../controlplane/build/argorollouts",
	"github.com/prometheus-operator/prometheus-operator": "../operatorcrds",
}

// newConformance returns a check by kubeconform, strict and without a network,
// that returns the errors of an object.
func newConformance(t *testing.T) func(*testing.T, *unstructured.Unstructured) []string {
	t.Helper()
	dir, err := schemas()
	require.NoError(t, err)
	v, err := validator.New([]string{filepath.Join(dir, "{{ .Group }}_{{ .ResourceAPIVersion }}_{{ .ResourceKind }}.json")}, validator.Opts{Strict: true})
	require.NoError(t, err)
	return func(t *testing.T, o *unstructured.Unstructured) []string {
		t.Helper()
		text, err := yaml.Marshal(o.Object)
		require.NoError(t, err)
		var wrong []string
		for _, r := range v.Validate(o.GetName(), io.NopCloser(bytes.NewReader(text))) {
			if r.Status != validator.Valid {
				wrong = append(wrong, r.Err.Error())
			}
		}
		return wrong
	}
}

// schemas makes the schemas once, and returns their folder.
var schemas = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(helm.home, "schemas")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	kubernetes, err := sourceOf("k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	for _, group := range []string{"api__v1", "apis__apps__v1", "apis__autoscaling__v2", "apis__networking.k8s.io__v1", "apis__policy__v1", "apis__rbac.authorization.k8s.io__v1"} {
		if err := fromOpenAPI(filepath.Join(kubernetes, "api", "openapi-spec", "v3", group+"_openapi.json"), dir); err != nil {
			return "", err
		}
	}
	crds, err := crdFiles()
	if err != nil {
		return "", err
	}
	for _, path := range crds {
		if err := fromCRD(path, dir); err != nil {
			return "", err
		}
	}
	return dir, nil
})
