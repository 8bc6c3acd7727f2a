// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo starts a real control plane on this machine, runs the AgentRun
// controller on it, and plays the samples. While runs are in flight it kills
// the controller once. It exits 0 if every sample ended as its file promises,
// and on Ctrl-C. It uses no other cluster, unless --context names one.
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

	"github.com/proompteng/controllerkit/internal/demo/play"
)

func main() {
	keep := flag.Bool("keep", false, "leave everything up until Ctrl-C")
	record := flag.String("record", "", "`file` to write the lines to, as an animated SVG")
	contextName := flag.String("context", "",
		"`name` of a kubeconfig context to use instead of a local control plane")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unexpected argument %q; it plays all samples\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := demo(ctx, os.Stdout, *contextName, *keep, *record)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
	}
	switch {
	case interrupted && !errors.Is(err, errDiffers):
		fmt.Fprintln(os.Stderr, "demo: interrupted; everything that it started has stopped")
	case err != nil:
		os.Exit(1)
	}
}

var errDiffers = errors.New("samples did not end as their files promise")

func demo(ctx context.Context, out io.Writer, contextName string, keep bool, record string) (err error) {
	heading(out, "The control plane")
	p, err := open(ctx, out, contextName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close(context.WithoutCancel(ctx))) }()

	all, err := play.Load()
	if err != nil {
		return err
	}
	var differs []string
	if err := p.play(ctx, out, all, record); err != nil {
		differs = append(differs, err.Error())
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}

	heading(out, "How they ended")
	for _, s := range all {
		wrong := s.Check(ctx, p.stage)
		p.show(out, s, wrong)
		differs = append(differs, wrong...)
	}
	_, again := p.jobs.Count()
	for _, name := range again {
		differs = append(differs, name+": it has had another Job")
	}
	fmt.Fprintln(out)
	if err := p.kubectlEvents(ctx, out, "missing-secret", "job-deleted"); err != nil {
		return err
	}
	heading(out, "What this shows")
	if err := p.counts(ctx, out, all); err != nil {
		return err
	}
	for _, d := range differs {
		fmt.Fprintln(out, "DIFFERS  "+d)
	}
	if len(differs) == 0 {
		fmt.Fprintln(out, "Every sample ended as its file promises.")
	}
	p.next(out, keep)
	if keep {
		<-ctx.Done()
	}
	if len(differs) > 0 {
		return errDiffers
	}
	return nil
}

func heading(out io.Writer, text string) { fmt.Fprintf(out, "\n== %s ==\n", text) }
