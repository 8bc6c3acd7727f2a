// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the main job: it starts a real control plane on this machine, runs the AgentRun controller on it, plays the samples,
// and shows what became of them. It ends with 0 when every sample became what its file promises. It touches no other cluster, unless
// --context names one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/proompteng/controllerkit/examples/agentrun/samples"
)

func main() {
	keep := flag.Bool("keep", false, "leave everything up until Ctrl-C")
	contextName := flag.String("context", "", "`name` of a kubeconfig context to use instead of a local control plane")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unexpected argument %q; it plays all samples\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := demo(ctx, os.Stdout, *contextName, *keep)
	interrupted := ctx.Err() != nil
	stop()
	if interrupted && errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "demo: interrupted; what it had started is stopped")
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, out io.Writer, contextName string, keep bool) (err error) {
	heading(out, "The control plane")
	p, err := open(ctx, out, contextName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close(context.WithoutCancel(ctx))) }()

	all, err := samples.Load()
	if err != nil {
		return err
	}
	started := time.Now()
	var differs []string
	if err := p.play(ctx, out, all); err != nil {
		differs = append(differs, err.Error())
	}
	took := time.Since(started)
	if ctx.Err() != nil {
		return ctx.Err()
	}

	heading(out, "What became of them")
	for _, s := range all {
		wrong := s.Check(ctx, p.stage)
		if err := p.show(ctx, out, s, wrong); err != nil {
			return err
		}
		differs = append(differs, wrong...)
	}
	heading(out, "What was written, and how often")
	if err := p.counts(ctx, out); err != nil {
		return err
	}
	heading(out, "A page of the metrics ("+p.controller.URL+"/metrics)")
	if err := p.page(ctx, out); err != nil {
		return err
	}
	heading(out, "The result")
	fmt.Fprintf(out, "%d runs of %d samples in %.1fs.\n", runs(all), len(all), took.Seconds())
	for _, d := range differs {
		fmt.Fprintln(out, "DIFFERS  "+d)
	}
	if len(differs) == 0 {
		fmt.Fprintln(out, "Every sample became what its file promises.")
	}
	p.next(out, keep)
	if keep {
		<-ctx.Done()
	}
	if len(differs) > 0 {
		return fmt.Errorf("%d promises were not kept", len(differs))
	}
	return nil
}

func heading(out io.Writer, text string) { fmt.Fprintf(out, "\n== %s ==\n", text) }

func runs(all []*samples.Sample) (n int) {
	for _, s := range all {
		n += s.Copies
	}
	return n
}
