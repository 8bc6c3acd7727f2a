// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/proompteng/controllerkit/internal/bench"
)

// find lists the folders of the groups below dir by package: those given, all if there are none.
func find(dir string, packages []string) (map[string][]string, error) {
	modules, err := filepath.Glob(filepath.Join(dir, "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	groups := map[string][]string{}
	for _, m := range modules {
		group := filepath.Dir(m)
		pkg, _, _ := strings.Cut(filepath.Base(group), "-")
		groups[pkg] = append(groups[pkg], group)
	}
	if len(packages) == 0 {
		return groups, nil
	}
	wanted := map[string][]string{}
	for _, p := range packages {
		if groups[p] == nil {
			return nil, fmt.Errorf("no group measures %q; there are %s", p, strings.Join(slices.Sorted(maps.Keys(groups)), ", "))
		}
		wanted[p] = groups[p]
	}
	return wanted, nil
}

// measure builds the program of a group and runs it. What the program says on stderr goes to ours.
func measure(ctx context.Context, group string, rounds int, only string) (r bench.Report, err error) {
	tmp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	fmt.Fprintf(os.Stderr, "%s: building\n", group)
	program := filepath.Join(tmp, "group")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir, build.Stderr = group, os.Stderr
	build.Env = append(os.Environ(), "GOWORK=off")
	if err := build.Run(); err != nil {
		return r, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-rounds", strconv.Itoa(rounds), "-only", only)
	cmd.Dir, cmd.Stdout, cmd.Stderr = group, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return r, err
	}
	return r, json.Unmarshal(out.Bytes(), &r)
}
