// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// kubernetes is the build module with several versions.
const kubernetes = "kubernetes"

// versionVariable names the minor version of Kubernetes that is used instead of
// the newest, which is in go.mod.
const (
	versionVariable = "CONTROLLERKIT_KUBERNETES"
	newest          = "1.36"
)

// entry is one directory of the cache: the programs of one build module, of one
// version, platform and Go version.
type entry struct {
	dir    string
	source string   // the directory of the module
	flags  []string // of go build
}

// openEntry finds the entry of a build module, without creating it.
func openEntry(ctx context.Context, source, module string) (*entry, error) {
	source, err := locate(ctx, source)
	if err != nil {
		return nil, err
	}
	root, err := cacheRoot()
	if err != nil {
		return nil, err
	}
	e := &entry{source: filepath.Join(source, module)}
	file := "go"
	if minor := cmp.Or(os.Getenv(versionVariable), newest); module == kubernetes && minor != newest {
		file = minor
	}
	mod, err := os.ReadFile(filepath.Join(e.source, file+".mod"))
	if err != nil {
		return nil, fmt.Errorf("build: no build module: %w", err)
	}
	e.flags = flags(file, mod)
	goVersion, err := goCommand(ctx, e.source, "env", "GOVERSION") // may follow from go.mod
	if err != nil {
		return nil, err
	}
	inputs := append([]string{goVersion, string(mod)}, e.flags...)
	inputs = append(inputs, environment()...)
	programs, err := filepath.Glob(filepath.Join(e.source, "*", "*.go"))
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	for _, path := range append(programs, filepath.Join(e.source, file+".sum")) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("build: %w", err)
		}
		inputs = append(inputs, string(text))
	}
	text, err := json.Marshal(inputs)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(text)
	e.dir = filepath.Join(root, "controlplane", module+"-"+hex.EncodeToString(key[:8]))
	return e, nil
}

// cacheRoot returns the directory of all entries.
func cacheRoot() (string, error) {
	if root := os.Getenv("CONTROLLERKIT_CACHE"); root != "" {
		return filepath.Abs(root)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("build: no cache directory: %w; name one in CONTROLLERKIT_CACHE", err)
	}
	return filepath.Join(dir, "controllerkit"), nil
}

// flags returns the arguments of go build for the programs of a module.
// Kubernetes takes its version from linker flags; without them it calls itself
// v0.0.0-master. etcd carries its version in its source.
func flags(file string, mod []byte) []string {
	ldflags := "-s -w"
	kubernetesVersion := regexp.MustCompile(`(?m)^(?:require)?\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\d+\S*)`)
	if match := kubernetesVersion.FindSubmatch(mod); match != nil {
		const pkg = " -X k8s.io/component-base/version."
		ldflags += fmt.Sprintf("%[1]sgitVersion=%s%[1]sgitMajor=%s%[1]sgitMinor=%s",
			pkg, match[1], match[2], match[3])
	}
	flags := []string{"-mod=readonly", "-trimpath", "-ldflags", ldflags}
	if file != "go" {
		flags = append(flags, "-modfile="+file+".mod")
	}
	return flags
}

// environment is what a build needs beyond the caller's environment, and what
// it must not inherit from it. GOFLAGS is set, not emptied: an empty one would
// let the user's `go env -w GOFLAGS` in.
func environment() []string {
	return []string{
		"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false",
		"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH,
	}
}

// provide returns the path of a program, which it builds if the entry lacks it.
func (e *entry) provide(ctx context.Context, p program, log io.Writer) (string, error) {
	path := filepath.Join(e.dir, p.name)
	if executable(path) {
		return path, nil
	}
	unlock, err := lock(ctx, e.dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if executable(path) { // another process has built it
		return path, nil
	}
	const building = "control plane: building %s from source, which takes minutes, once; cached in %s. " +
		"A program in KUBEBUILDER_ASSETS is used instead\n"
	_, _ = fmt.Fprintf(log, building, p.name, e.dir)
	args := append([]string{"build"}, e.flags...)
	if _, err := goCommand(ctx, e.source, append(args, "-o", path+".new", p.pkg)...); err != nil {
		return "", err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	return path, nil
}
