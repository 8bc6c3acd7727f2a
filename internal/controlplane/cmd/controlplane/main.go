// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane keeps one control plane up in the background, for people
// at a terminal:
//
//	controlplane --state=FILE up|down|env
//
// FILE has its process and its address: up writes the file, env prints it as
// lines for eval, and down ends the process and removes the file.
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
	path := flag.String("state", "", "`file` with the state of the control plane; its lock and log are in the same folder")
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
