// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Error is a program that could not be built. Its text is one line: what failed
// and first said so, the command that shows the rest, and the file that holds
// the whole output.
type Error struct {
	Program string
	Command string // for a shell
	Log     string // path of the output
	Err     error
}

// Error returns the one line.
func (e *Error) Error() string {
	return fmt.Sprintf("build: %s was not built: %v; to see it run: %s; whole output: %s", e.Program, e.Err, e.Command, e.Log)
}

// Unwrap returns the cause: what the go command said, or the context's error.
func (e *Error) Unwrap() error { return e.Err }

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
	cmd := e.command(ctx, p, out)
	logPath := e.path(p) + ".log"
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return e.failure(ctx, p, logPath, err)
	}
	if err := os.Rename(out, e.path(p)); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return os.Remove(logPath)
}

// command is the go build of a program.
func (e *entry) command(ctx context.Context, p program, out string) *exec.Cmd {
	args := append([]string{"build"}, e.flags[p.module]...)
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", out, p.pkg)...)
	cmd.Dir = filepath.Join(e.source, p.module)
	cmd.Env = append(os.Environ(), environment()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go end its compilers
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// failure says what a person needs to go on.
func (e *entry) failure(ctx context.Context, p program, logPath string, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if output, readErr := os.ReadFile(logPath); readErr == nil {
		err = fmt.Errorf("%w: %s", err, firstError(output))
	}
	words := []string{"cd", quote(filepath.Join(e.source, p.module)), "&&"}
	words = append(words, environment()...)
	words = append(words, "go", "build")
	for _, flag := range e.flags[p.module] {
		words = append(words, quote(flag))
	}
	words = append(words, "-o", os.DevNull, p.pkg)
	return &Error{Program: p.name, Command: strings.Join(words, " "), Log: logPath, Err: err}
}

// quote makes one word of s in a shell.
func quote(s string) string {
	if !strings.ContainsAny(s, " '\"$&;|<>()*?\\`") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
