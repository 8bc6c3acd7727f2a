// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestDemo runs the demo with KEEP=1 and ends it with Ctrl-C. KUBECONFIG names
// a cluster that the demo must not use.
//
//req:shows A1 E7 O1
func TestDemo(t *testing.T) {
	var asked atomic.Int64
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer foreign.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, &rest.Config{Host: foreign.URL}))

	cmd := demoCommand(t, []string{"KUBECONFIG=" + kubeconfig}, "--keep")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }() // it has ended, unless the test failed
	var out strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "Everything stays up") {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	require.NoError(t, cmd.Wait(), out.String())

	assertCompared(t, out.String())
	assert.Regexp(t, `(?m)^invalid-spec +Failed +InvalidSpec +ok, expected to fail +Events: InvalidSpec$`, out.String())
	assert.Contains(t, out.String(), "$ kubectl events --for=agentrun/job-deleted")
	assert.Contains(t, out.String(), "Jobs: 7 for 8 runs; more than one for a run: 0\n", "a run with an invalid spec has no Job")
	assert.Contains(t, out.String(), "\ncontroller_missing_jobs_total in /metrics: 1\n")
	_, ending, _ := strings.Cut(out.String(), "results lost")
	assert.LessOrEqual(t, strings.Count(ending, "\n"), 40, "the ending fits a screen")
	assert.Zero(t, asked.Load(), "the demo used another cluster")
}

// TestDemoOnANamedCluster: with --context the demo plays on that cluster, and
// removes everything except the CRD.
func TestDemoOnANamedCluster(t *testing.T) {
	path := "PATH=" + filepath.Dir(plane.Kubectl()) + string(os.PathListSeparator) + os.Getenv("PATH")
	name, err := plane.Admin.Run(t.Context(), nil, "config", "current-context")
	require.NoError(t, err)
	out, err := demoCommand(t, []string{path, "KUBECONFIG=" + plane.Kubeconfig()}, "--context="+name[:len(name)-1]).CombinedOutput()
	require.NoError(t, err, string(out))
	assertCompared(t, string(out))
	for _, name := range []string{"controllerkit-samples", "controllerkit-demo", "controllerkit-demo-usual"} {
		phase, err := plane.Admin.Run(t.Context(), nil, "get", "namespace", name, "--ignore-not-found", "-o", "jsonpath={.status.phase}")
		require.NoError(t, err)
		assert.Contains(t, []string{"", "Terminating"}, phase, name)
	}
}

// assertCompared checks the lines that compare the controllers. The usual one
// loses what it loses: that depends on the moments of the kills.
func assertCompared(t *testing.T, out string) {
	t.Helper()
	assert.Regexp(t, `(?m)^ +\d+\.\ds  usual has ended \d+ runs and controllerkit 50$`, out)
	assert.Equal(t, 3, strings.Count(out, "kills both (kill -9)"))
	assert.Regexp(t, `(?m)^usual +\d+ of 50 +\d+ of 50 +\d+ of 16 +\d{2,} +\d{2,}$`, out)
	assert.Regexp(t, `(?m)^controllerkit +0 of 50 +0 of 50 +\d+ of 16 +\d{2,} +\d{2,}$`, out)
	assert.Contains(t, out, "Every sample ended as its file promises.")
}

// demoCommand builds the demo. The command runs it with more environment.
func demoCommand(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	demo := filepath.Join(t.TempDir(), "demo")
	out, err := exec.CommandContext(t.Context(), "go", "build", suite.RaceFlag(), "-o", demo, "github.com/proompteng/controllerkit/internal/demo").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.CommandContext(t.Context(), demo, args...)
	flags := "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" "+suite.RaceFlag())
	cmd.Env = append(append(os.Environ(), flags), env...) // the controller that it builds shares what the tests compile
	return cmd
}
