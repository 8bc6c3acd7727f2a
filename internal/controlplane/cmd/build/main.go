// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command build builds the programs of the control plane into the cache, or
// finds them there. Arguments name further ones: kubectl, kube-scheduler, kwok,
// rollouts-controller, rollouts-oracle. It shows its progress on standard error
// and prints the directories that hold the programs on standard output, one for
// each entry of the cache.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	root := context.Background()
	ctx, stop := signal.NotifyContext(root, os.Interrupt, syscall.SIGTERM)
	defer stop()
	programs, err := build.Ensure(ctx, build.Options{Log: os.Stderr, More: os.Args[1:]})
	if err != nil {
		return err
	}
	var dirs []string
	for _, path := range slices.Sorted(maps.Values(programs)) {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range slices.Compact(dirs) {
		_, _ = fmt.Fprintln(os.Stdout, dir)
	}
	return nil
}
