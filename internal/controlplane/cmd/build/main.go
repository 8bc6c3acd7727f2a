// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command build builds the programs of the control plane into the cache, or
// finds them there. Arguments name further ones: kubectl, kube-scheduler, kwok,
// rollouts-controller, rollouts-oracle.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	_, err := build.Ensure(ctx, build.Options{Log: os.Stderr, More: os.Args[1:]})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
