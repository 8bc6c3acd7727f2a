// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// environment is what a build needs beyond the caller's environment, and what
// it must not inherit from it. GOFLAGS is set, not emptied: an empty one would
// let the user's `go env -w GOFLAGS` in.
func environment() []string {
	return []string{
		"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false",
		"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH,
	}
}

// compile builds one program and puts it into the entry, whole.
func (e *entry) compile(ctx context.Context, p program) error {
	work := filepath.Join(e.dir, "building")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	out := filepath.Join(work, p.name)
	args := append([]string{"build"}, e.flags[p.module]...)
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", out, p.pkg)...)
	folder, _ := modFile(p.module)
	cmd.Dir = filepath.Join(e.source, folder)
	cmd.Env = append(os.Environ(), environment()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go end its compilers
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("build: %s was not built: %w\n%s", p.name, err, &output)
	}
	return os.Rename(out, e.path(p))
}
