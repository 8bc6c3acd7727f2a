// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adoption_test takes projects of others, inserts controllerkit and
// runs their own tests. See the package's doc.
package adoption_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

const modulePath = "github.com/proompteng/controllerkit"

// grace is how long a command may take to stop what it started, after SIGTERM:
// envtest stops its etcd and its API server.
const grace = 30 * time.Second

// project is a Go module of others in a folder of the test.
type project struct {
	t   *testing.T
	dir string
	env []string
}

// newProject makes an empty folder. Its path ends with name, because
// kubebuilder names a project after its folder.
func newProject(t *testing.T, name string) project {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	env := append(environment(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)) // so that git apply finds no repository around it
	return project{t: t, dir: dir, env: env}
}

// environment is the caller's, without what would change another project: the
// settings of the make that runs this test, a workspace, a cluster.
func environment() []string {
	env := []string{"GOWORK=off", "GOFLAGS=-buildvcs=false"}
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "GOWORK", "GOFLAGS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GNUMAKEFLAGS",
			"KUBECONFIG", "USE_EXISTING_CLUSTER", "KUBEBUILDER_ASSETS", "TEST_ASSET_ETCD", "TEST_ASSET_KUBE_APISERVER":
		default:
			env = append(env, v)
		}
	}
	return env
}

// run runs a command in the project and returns its standard output. When the
// command fails, the test ends and shows its whole output.
func (p project) run(name string, args ...string) string {
	p.t.Helper()
	began := time.Now()
	cmd := exec.CommandContext(p.deadline(), name, args...)
	var stdout, stderr strings.Builder // apart: two goroutines write them
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The command and what it starts are one group, which ends as a whole.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	line := strings.Join(append([]string{filepath.Base(name)}, args...), " ")
	require.NoError(p.t, err, "%s\nin %s printed:\n%s%s", line, p.dir, stdout.String(), stderr.String())
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	p.t.Logf("%5.1f s, %5.1f s of CPU: %s", time.Since(began).Seconds(), cpu.Seconds(), line)
	return stdout.String()
}

// deadline is the test's context, which ends early enough before the test's
// deadline to stop what still runs.
func (p project) deadline() context.Context {
	ctx := p.t.Context()
	if at, ok := p.t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at.Add(-2*grace))
		p.t.Cleanup(cancel)
	}
	return ctx
}

// insert applies a patch of testdata. Its lines of context are the few that git
// needs to notice a project that has changed.
func (p project) insert(file string) {
	p.t.Helper()
	patch, err := filepath.Abs(filepath.Join("testdata", file))
	require.NoError(p.t, err)
	p.run("git", "apply", patch)
}

// tool builds a program from the module in dir, which pins its version.
func tool(t *testing.T, dir, name, pkg string) string {
	t.Helper()
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	project{t: t, dir: dir, env: environment()}.run("go", "build", "-o", path, pkg)
	return path
}

// adopt makes the module require this checkout, after the lines were inserted.
// It fails if that changes a version of Kubernetes or controller-runtime.
func (p project) adopt() {
	p.t.Helper()
	before := p.kubernetes()
	require.NotEmpty(p.t, before["k8s.io/client-go"], "the project uses client-go")
	p.require()
	p.run("go", "mod", "tidy")
	after := p.kubernetes()
	var changed []string
	for path, version := range before {
		if after[path] != version {
			changed = append(changed, path+" from "+version+" to "+after[path])
		}
	}
	slices.Sort(changed)
	require.Empty(p.t, changed, "controllerkit changed the project's versions")
	p.t.Logf("kept client-go %s and %d other versions", after["k8s.io/client-go"], len(before)-1)
}

// require makes the module require this checkout.
func (p project) require() {
	p.t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(p.t, err)
	p.run("go", "mod", "edit", "-require="+modulePath+"@v0.0.0", "-replace="+modulePath+"="+root)
}

// kubernetes lists the versions of the modules of Kubernetes and of
// controller-runtime that the project builds with.
func (p project) kubernetes() map[string]string {
	p.t.Helper()
	versions := map[string]string{}
	for line := range strings.Lines(p.run("go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "all")) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if version != "" && (strings.HasPrefix(path, "k8s.io/") || path == "sigs.k8s.io/controller-runtime") {
			versions[path] = version
		}
	}
	return versions
}

// moduleDir is where the Go command keeps a module that the go.mod in dir
// requires.
func moduleDir(t *testing.T, dir, path string) string {
	t.Helper()
	module, err := build.ModuleDir(t.Context(), dir, path)
	require.NoError(t, err)
	return module
}

// assets makes the folder that envtest takes its etcd and its API server from,
// after building them if the cache lacks them.
func assets(t *testing.T) string {
	t.Helper()
	programs, err := build.Ensure(t.Context(), build.Options{Log: os.Stderr, More: []string{build.Kubectl}})
	require.NoError(t, err)
	dir := t.TempDir()
	for name, path := range programs {
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}
