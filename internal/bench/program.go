// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// TestGroup runs the tests of the group in a folder. Their output goes to
// stderr.
func TestGroup(ctx context.Context, folder string) error {
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "./...")
	test.Dir, test.Stdout, test.Stderr = folder, os.Stderr, os.Stderr
	test.Env = append(os.Environ(), "GOWORK=off")
	if err := test.Run(); err != nil {
		return fmt.Errorf("%s: go test: %w", folder, err)
	}
	return nil
}

// RunGroup builds the program of the group in a folder and runs the measures
// whose names contain only. The program's stderr goes to this process's stderr,
// and env is added to its environment.
func RunGroup(
	ctx context.Context, folder string, rounds int, only string, env ...string,
) (r Report, err error) {
	tmp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	fmt.Fprintf(os.Stderr, "%s: building\n", folder)
	program := filepath.Join(tmp, "group")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir, build.Stderr = folder, os.Stderr
	build.Env = append(os.Environ(), "GOWORK=off")
	if err := build.Run(); err != nil {
		return r, fmt.Errorf("%s: %w", folder, err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-rounds", strconv.Itoa(rounds), "-only", only)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%s: %w", folder, err)
	}
	return r, json.Unmarshal(out.Bytes(), &r)
}
