// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo starts a real control plane on this machine. There it runs fifty
// AgentRuns under a usual controller and fifty under the example, and kills both
// at the same moments. In the meantime the example plays the samples. It uses no
// other cluster, unless --context names one.
//
// It exits 0 if the example lost nothing and each sample ended as its file
// promises, and on Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/proompteng/controllerkit/internal/demo/play"
)

func main() {
	keep := flag.Bool("keep", false, "leave everything up until Ctrl-C")
	record := flag.String("record", "", "`file` to write the comparison to, as an animated SVG")
	contextName := flag.String("context", "",
		"`name` of a kubeconfig context to use instead of a local control plane")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unexpected argument %q; it takes only flags\n", flag.Arg(0))
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

var errDiffers = errors.New("the example did not do what it promises: see DIFFERS above")

func demo(ctx context.Context, out io.Writer, contextName string, keep bool, record string) (err error) {
	heading(out, "The control plane")
	p, err := open(ctx, out, contextName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close(context.WithoutCancel(ctx))) }()

	heading(out, "Fifty runs under each of two controllers, and both are killed")
	differs, err := p.play(ctx, out, record)
	if err != nil {
		return err
	}
	for _, d := range differs {
		fmt.Fprintln(out, "DIFFERS  "+d)
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

// play plays the samples while both controllers are compared, and returns what
// the example did not do as promised.
func (p *place) play(ctx context.Context, out io.Writer, record string) (differs []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	samples, err := play.Load()
	if err != nil {
		return nil, err
	}
	var unplayed error
	var playing sync.WaitGroup
	playing.Go(func() { unplayed = p.playSamples(ctx, samples) })
	differs, err = p.compare(ctx, out, record)
	if err != nil {
		cancel()
	}
	playing.Wait()
	if err := errors.Join(err, unplayed); err != nil {
		return nil, err
	}
	heading(out, "In the meantime: the samples of examples/agentrun, under controllerkit")
	more, err := p.show(ctx, out, samples)
	return append(differs, more...), err
}

func heading(out io.Writer, text string) { fmt.Fprintf(out, "\n== %s ==\n", text) }
