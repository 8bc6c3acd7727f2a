// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart_test tests examples/chart: the manifests that helm renders, and
// their use by the API server and the example.
//
// Only this suite proves that helm renders the chart as its golden files show,
// that a strict API server takes it, that wrong values are refused, and that it
// grants the rights of the example's own role.
//
// The suite needs Linux.
package chart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"
)

var chartDir = filepath.Join("..", "..", "..", "examples", "chart")

// kubeVersion is for helm without a cluster to ask: built from its module, it
// assumes Kubernetes 1.20.
const kubeVersion = "--kube-version=1.36.3"

// The APIs that a cluster may lack.
const (
	rolloutAPI = "argoproj.io/v1alpha1/Rollout"
	monitorAPI = "monitoring.coreos.com/v1/ServiceMonitor"
	ruleAPI    = "monitoring.coreos.com/v1/PrometheusRule"
)

// helm is the program, built from its module, and a folder for what it would
// otherwise keep in the user's home.
var helm struct{ path, home string }

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if helm.home, err = os.MkdirTemp("", "helm-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(helm.home)) }()
	// The flags are the same as in the chart's Dockerfile, so that the two
	// share compiled packages.
	build := exec.CommandContext(ctx, "sh", "-c", `CGO_ENABLED=0 GOWORK=off GOFLAGS="$(go env GOFLAGS) -trimpath" go tool -n helm`)
	build.Stderr = os.Stderr
	out, err := build.Output()
	if err != nil {
		return 1, fmt.Errorf("build helm: %w", err)
	}
	helm.path = strings.TrimSpace(string(out))
	code = m.Run()
	return code, stopPlane(code != 0)
}

// runHelm runs helm without any cluster, unless args name one.
func runHelm(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), helm.path, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + helm.home, "KUBECONFIG=" + os.DevNull,
		"HELM_CACHE_HOME=" + helm.home, "HELM_CONFIG_HOME=" + helm.home, "HELM_DATA_HOME=" + helm.home,
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.New(strings.TrimSpace(stderr.String() + string(out)))
	}
	return string(out), err
}

// both renders the two workloads, unless a test's own values say otherwise.
const both = "controlPlane: {enabled: true}"

// template renders the chart with values in YAML, as release "r" in namespace
// "ns", without a cluster, and with the control plane.
func template(t *testing.T, values string, args ...string) (string, error) {
	t.Helper()
	return runHelm(t, append([]string{"template", "r", chartDir, "--namespace=ns", kubeVersion, "--values=" + valuesFile(t, both), "--values=" + valuesFile(t, values)}, args...)...)
}

func valuesFile(t *testing.T, values string) string {
	t.Helper()
	f, err := os.CreateTemp(helm.home, "values-*.yaml") // not in t.TempDir: helm splits paths at commas, and takes some for URLs
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString(values)
	require.NoError(t, err)
	return f.Name()
}

// render is template where nothing may be wrong. It returns the objects by kind
// and name.
func render(t *testing.T, values string, args ...string) objects {
	t.Helper()
	out, err := template(t, values, args...)
	require.NoError(t, err)
	return parse(t, out)
}

type objects map[string]*unstructured.Unstructured

// parse reads a stream of documents. Every one of them is one object, and no
// two have the same kind and name.
func parse(t *testing.T, stream string) objects {
	t.Helper()
	return parseIn(t, "ns", stream)
}

func parseIn(t *testing.T, namespace, stream string) objects {
	t.Helper()
	all := objects{}
	for doc := range strings.SplitSeq("\n"+stream, "\n---") {
		var o map[string]any
		require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &o), doc) // strict: two objects without --- have the same keys twice
		if len(o) == 0 {
			continue
		}
		u := &unstructured.Unstructured{Object: o}
		require.NotEmpty(t, u.GetAPIVersion(), doc)
		key := u.GetKind() + "/" + u.GetName()
		if u.GetNamespace() != namespace && u.GetNamespace() != "" {
			key = u.GetKind() + "/" + u.GetNamespace() + "/" + u.GetName()
		}
		require.NotContains(t, all, key)
		all[key] = u
	}
	return all
}

// one returns the object of a kind and name.
func (all objects) one(t *testing.T, key string) *unstructured.Unstructured {
	t.Helper()
	require.Contains(t, all, key)
	return all[key]
}

// into reads an object as a type; a field that the type does not know is an
// error.
func into[T any](t *testing.T, u *unstructured.Unstructured) *T {
	t.Helper()
	data, err := yaml.Marshal(u.Object)
	require.NoError(t, err)
	out := new(T)
	require.NoError(t, yaml.UnmarshalStrict(data, out))
	return out
}
