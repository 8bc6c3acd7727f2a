// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// TestDemo runs the demo as a newcomer does, while KUBECONFIG names a cluster that is none of its business.
func TestDemo(t *testing.T) {
	demo := buildDemo(t)
	var asked atomic.Int64
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer foreign.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, &rest.Config{Host: foreign.URL}))

	out := runDemo(t, demo, "KUBECONFIG="+kubeconfig)
	assert.Contains(t, out, "Every sample became what its file promises.")
	assert.Contains(t, out, "fifty           50 Succeeded")
	assert.Contains(t, out, "$ kubectl events --for=agentrun/job-deleted")
	assert.Contains(t, out, `controller_missing_jobs_total{controller="agentrun"} 1`)
	assert.Zero(t, asked.Load(), "a cluster that is not the demo's was asked")
}

// TestDemoOnANamedCluster: with --context it plays on that cluster, and takes away what it brought but the CRD.
func TestDemoOnANamedCluster(t *testing.T) {
	demo := buildDemo(t)
	path := "PATH=" + filepath.Dir(plane.Kubectl()) + string(os.PathListSeparator) + os.Getenv("PATH")
	name, err := kubectl.Run(t.Context(), nil, "config", "current-context")
	require.NoError(t, err)
	out := runDemo(t, demo, path, "KUBECONFIG="+plane.Kubeconfig(), "--context="+name[:len(name)-1])
	assert.Contains(t, out, "Every sample became what its file promises.")
	namespaces, err := kubectl.Run(t.Context(), nil, "get", "namespace", "controllerkit-demo", "--ignore-not-found", "-o", "jsonpath={.status.phase}")
	require.NoError(t, err)
	assert.Contains(t, []string{"", "Terminating"}, namespaces)
}

func buildDemo(t *testing.T) string {
	t.Helper()
	demo := filepath.Join(t.TempDir(), "demo")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-race", "-o", demo, "github.com/proompteng/controllerkit/examples/agentrun/cmd/demo").CombinedOutput()
	require.NoError(t, err, string(out))
	return demo
}

// runDemo runs the demo with what looks like NAME=value in its environment and the rest as its arguments.
func runDemo(t *testing.T, demo string, settings ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), demo)
	cmd.Env = append(os.Environ(), "GOFLAGS=-race") // the controller that it builds shares what the tests compile
	for _, s := range settings {
		if s[0] == '-' {
			cmd.Args = append(cmd.Args, s)
		} else {
			cmd.Env = append(cmd.Env, s)
		}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}
