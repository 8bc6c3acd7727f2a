// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane keeps one control plane up in the background, for people at a terminal:
//
//	controlplane --state=FILE up|down|env
//
// Where it is stands in FILE: up writes it, env prints it as lines for eval, down ends what it names and removes it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	path := flag.String("state", "", "`file` that says what is up; beside it are a lock and a log")
	flag.Parse()
	command, known := map[string]func(context.Context, place) error{"up": up, "down": down, "env": env, "run": run}[flag.Arg(0)]
	if !known || flag.NArg() != 1 || *path == "" {
		fmt.Fprintln(os.Stderr, "usage: controlplane --state=FILE up|down|env")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, place(*path))
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
}
