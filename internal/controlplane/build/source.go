// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
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
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go end its compilers
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = dir
	if dir != "" { // the build module decides the Go version of its builds
		cmd.Env = append(os.Environ(), environment()...)
		// A program may need a newer Go than the one that is installed.
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN=auto")
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("build: go %s: %w", args[0], errors.Join(context.Cause(ctx), err))
	}
	return strings.TrimSpace(string(out)), nil
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
