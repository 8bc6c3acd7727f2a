// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane keeps one control plane up in the background, for people
// at a terminal:
//
//	controlplane --socket=FILE up|down|env
//
// The process in the background answers on the socket FILE. Env prints lines
// for eval, and down ends that process. Its log is FILE.log.
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
	socket := flag.String("socket", "", "`file` on which the control plane answers; its log is in the same folder")
	flag.Parse()
	command, known := map[string]func(context.Context, string) error{"up": up, "down": down, "env": env, "run": run}[flag.Arg(0)]
	if !known || flag.NArg() != 1 || *socket == "" {
		fmt.Fprintln(os.Stderr, "usage: controlplane --socket=FILE up|down|env")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, *socket)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
}
