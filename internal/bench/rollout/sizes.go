// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/proompteng/controllerkit/internal/bench"
)

// sizes are what a program takes on that validates Rollouts.
func sizes(ctx context.Context) []bench.Measure {
	const modules, megabytes = "modules", "MB"
	ours, theirs := "./validators/ours", "./validators/upstream"
	count := func(name, unit, pkg string) bench.Subject {
		return bench.Subject{Name: name, Count: func() (float64, error) {
			if unit == modules {
				return closure(ctx, pkg)
			}
			return binary(ctx, pkg)
		}}
	}
	return []bench.Measure{
		{
			Name: "modules compiled by a program that validates", Unit: modules, Gates: []bench.Gate{{Unit: modules, Limit: "<= 25"}},
			Ours: count("", modules, ours), Peers: []bench.Subject{count(upstream, modules, theirs)},
		},
		{
			Name: "program that validates", Unit: megabytes, Gates: []bench.Gate{{Unit: megabytes, Peer: upstream, Limit: "<= 0.35x"}},
			Ours: count("", megabytes, ours), Peers: []bench.Subject{count(upstream, megabytes, theirs)},
		},
	}
}

// closure counts the modules of which at least one package is compiled, without
// the program's module.
func closure(ctx context.Context, pkg string) (float64, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", pkg)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	seen := map[string]bool{}
	for path := range bytes.FieldsSeq(out) {
		seen[string(path)] = true
	}
	return float64(len(seen)), err
}

// binary is the size of the program without symbols.
func binary(ctx context.Context, pkg string) (float64, error) {
	dir, err := os.MkdirTemp("", "bench-rollout-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "program")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", path, pkg)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}
