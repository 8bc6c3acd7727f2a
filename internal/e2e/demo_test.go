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

	assert.Contains(t, out.String(), "Every sample ended as its file promises.")
	assert.Contains(t, out.String(), "fifty           50 Succeeded", "the last line is printed")
	assert.Regexp(t, `(?m)^invalid-spec +Failed +InvalidSpec +ok, expected to fail$`, out.String())
	assert.Contains(t, out.String(), "$ kubectl events --for=agentrun/job-deleted")
	assert.Regexp(t, `(?m)^controller +killed once, with ([1-9]|[1-4][0-9]) runs in flight; the next process was ready after`, out.String())
	assert.Regexp(t, `(?m)^Jobs +57 for 58 runs; more than one for a run: 0$`, out.String(), "a run with an invalid spec has no Job")
	assert.Regexp(t, `(?m)^missing Jobs +1$`, out.String())
	_, ending, _ := strings.Cut(out.String(), "== How they ended ==")
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
	assert.Contains(t, string(out), "Every sample ended as its file promises.")
	namespaces, err := plane.Admin.Run(t.Context(), nil, "get", "namespace", "controllerkit-demo", "--ignore-not-found", "-o", "jsonpath={.status.phase}")
	require.NoError(t, err)
	assert.Contains(t, []string{"", "Terminating"}, namespaces)
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
