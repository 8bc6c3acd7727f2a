// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheCommandsOfTheRunbooks runs every command of the runbooks unchanged on
// a real API server with an installation of the example: a Deployment, its pod,
// its lease, a run. It skips commands that need a container, because the
// kubelet is fake.
//
//req:shows O4
func TestTheCommandsOfTheRunbooks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	installOperatorCRDs(ctx, t)
	stage := plane.NewStage(t)
	env := map[string]string{
		"NS": stage.Namespace, "DEPLOY": "agentrun", "SA": "agentrun", "RUN_NS": stage.Namespace, "RUN": "my-run", "KIND": "agentrun", "CRD": "agentruns.agents.controllerkit.dev", "CONTAINER": "agentrun", "LEASE": "agentrun", "POD": "agentrun-0",
	}
	apply := func(file string) {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		objects := os.Expand(string(text), func(name string) string { return env[name] })
		_, err = plane.Admin.Run(ctx, []byte(objects), "apply", "--server-side", "-f", "-")
		require.NoError(t, err)
	}
	apply("installation.yaml")
	// Two revisions, as the Deployment controller keeps them, so that a
	// rollback is possible.
	uid, err := plane.Admin.Run(ctx, nil, "--namespace="+stage.Namespace, "get", "deployment", "agentrun", "-o", "jsonpath={.metadata.uid}")
	require.NoError(t, err)
	env["UID"] = uid
	for _, env["REVISION"] = range []string{"1", "2"} {
		apply("revision.yaml")
	}

	var last []string // commands that delete come last
	for _, c := range runbookCommands(t) {
		if strings.Contains(c, " delete ") {
			last = append(last, c)
			continue
		}
		runCommand(ctx, t, c, env)
	}
	require.NotEmpty(t, last)
	for _, c := range last {
		runCommand(ctx, t, c, env)
	}
}

// runCommand runs one line in a shell with the control plane's kubectl. For
// auth can-i, "no" with exit code 1 is a valid answer.
func runCommand(ctx context.Context, t *testing.T, line string, env map[string]string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "sh", "-euc", `kubectl() { "$KUBECTL" --kubeconfig="$KC" --cache-dir="$CACHE" "$@"; }; `+line)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "KUBECTL=" + plane.Admin.Path, "KC=" + plane.Admin.Kubeconfig, "CACHE=" + plane.Admin.Cache}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if strings.Contains(line, "auth can-i") && strings.HasPrefix(string(out), "no") {
		return
	}
	assert.NoError(t, err, "%s\n%s", line, out)
}

// runbookCommands returns the lines of the shell blocks and the commands in the
// text, each once.
func runbookCommands(t *testing.T) (commands []string) {
	t.Helper()
	root := filepath.Join("..", "..", "examples", "operate", "runbooks")
	seen := map[string]bool{}
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	require.NoError(t, err)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("(?m)^(kubectl .*)$|`(kubectl [^`]*)`").FindAllStringSubmatch(string(text), -1) {
			c := m[1] + m[2]
			container := regexp.MustCompile(` (logs|exec|debug|port-forward) `).MatchString(c)
			bare := !strings.Contains(c[len("kubectl "):], " ") // a word in a sentence, such as kubectl describe
			if container || bare || seen[c] {
				continue
			}
			seen[c] = true
			commands = append(commands, c)
		}
	}
	require.Greater(t, len(commands), 20)
	return commands
}
