// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// parent is the module that this package belongs to.
const parent = "github.com/proompteng/controllerkit/internal/controlplane"

// locate returns the directory of the build modules: source, or the one in the
// module that the working directory leads to.
func locate(ctx context.Context, source string) (string, error) {
	if source != "" {
		return source, nil
	}
	dir, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}", parent)
	if err != nil {
		return "", fmt.Errorf("%w; run inside a module that requires %s, or set %s",
			err, parent, assetsVariable)
	}
	return filepath.Join(dir, "build"), nil
}

// goCommand runs the go command in dir, the working directory if empty, and
// returns what it prints.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if dir != "" { // the build module decides the Go version of its builds
		cmd.Env = append(os.Environ(), environment()...)
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("build: go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// modFile returns the folder of a build module and the name of its go.mod. A
// version of Kubernetes that is not the default one, such as kubernetes-1.35,
// has a file 1.35.mod in the folder kubernetes.
func modFile(name string) (folder, file string) {
	folder, minor, older := strings.Cut(name, "-")
	if !older {
		return folder, "go.mod"
	}
	return folder, minor + ".mod"
}

// module is the content of one build module.
type module struct {
	dir       string
	modFile   string
	mod, sum  []byte
	sources   [][]byte // of this repository's programs
	goVersion string   // may follow from go.mod: the go command switches toolchains
}

// readModule reads the files of a build module that decide what is built.
// Source has the folders of the modules.
func readModule(source, name string) (module, error) {
	folder, file := modFile(name)
	dir := filepath.Join(source, folder)
	mod, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return module{}, fmt.Errorf("build: no build module: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(file, "mod")+"sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return module{}, fmt.Errorf("build: %w", err)
	}
	m := module{dir: dir, modFile: file, mod: mod, sum: sum}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.go"))
	if err != nil {
		return module{}, fmt.Errorf("build: %w", err)
	}
	for _, file := range files { // sorted
		source, err := os.ReadFile(file)
		if err != nil {
			return module{}, fmt.Errorf("build: %w", err)
		}
		m.sources = append(m.sources, source)
	}
	return m, nil
}

// flags returns the arguments of go build for this module's programs.
// Kubernetes takes its version from linker flags; without them it calls itself
// v0.0.0-master. etcd carries its version in its source.
func (m module) flags() []string {
	ldflags := "-s -w"
	if version := m.kubernetesVersion(); version != "" {
		numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
		const pkg = " -X k8s.io/component-base/version."
		ldflags += pkg + "gitVersion=" + version
		ldflags += pkg + "gitMajor=" + numbers[0] + pkg + "gitMinor=" + numbers[1]
	}
	flags := []string{"-mod=readonly", "-trimpath", "-ldflags", ldflags}
	if m.modFile != "go.mod" {
		flags = append(flags, "-modfile="+m.modFile)
	}
	return flags
}

// kubernetesVersion is the version of Kubernetes that the module requires,
// empty if none.
func (m module) kubernetesVersion() string {
	pattern := regexp.MustCompile(`(?m)^(?:require)?\s*k8s\.io/kubernetes (v\d+\.\d+\.\d+\S*)`)
	if match := pattern.FindSubmatch(m.mod); match != nil {
		return string(match[1])
	}
	return ""
}

// ArgoRolloutsSource returns the folder of the sources that ArgoRollouts is
// built from, after downloading them where they are missing: the CRDs and the
// ClusterRole are among them, under manifests.
func ArgoRolloutsSource(ctx context.Context) (string, error) {
	source, err := locate(ctx, "")
	if err != nil {
		return "", err
	}
	return ModuleDir(ctx, filepath.Join(source, "argorollouts"), "github.com/argoproj/argo-rollouts")
}

// ModuleDir returns the folder of a module that the go.mod in dir requires,
// after downloading it where it is missing.
func ModuleDir(ctx context.Context, dir, path string) (string, error) {
	if _, err := goCommand(ctx, dir, "mod", "download", path); err != nil {
		return "", err
	}
	return goCommand(ctx, dir, "list", "-m", "-f", "{{.Dir}}", path)
}
