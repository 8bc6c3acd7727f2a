// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/demo/play"
)

// play creates the runs of every sample and prints their changes. It returns
// when all runs have ended, or after three minutes. Samples that kill the
// controller come after the usual ones, whose Events a killed process could
// lose.
func (p *place) play(ctx context.Context, out io.Writer, all []*play.Sample, record string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	heading(out, "The samples, one line per change")
	b := newBoard(out, all, &p.jobs)
	p.stage.Say = b.say
	watching, stop := context.WithCancel(ctx)
	watched, err := p.stage.Watch(watching, b.change)
	if err == nil {
		err = p.playAll(ctx, all)
	}
	stop()
	watched()
	if err != nil {
		return err
	}
	runs, err := p.stage.Runs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	b.finish(runs.Items)
	if record == "" {
		return nil
	}
	var svg bytes.Buffer
	err = b.film.write(&svg)
	if err != nil {
		return err
	}
	return os.WriteFile(record, svg.Bytes(), 0o644) //nolint:gosec // the file's mode in git
}

// playAll plays each sample at its turn.
func (p *place) playAll(ctx context.Context, all []*play.Sample) error {
	errs := make([]error, len(all))
	var turns [3]sync.WaitGroup
	for _, turn := range []turn{waiting, usual, killing} {
		for i, s := range all {
			if turnOf(s) == turn {
				turns[turn].Go(func() { errs[i] = playOne(ctx, p.stage, s) })
			}
		}
		if turn != waiting {
			turns[turn].Wait()
		}
	}
	p.stage.Say("waits for the Jobs without pods: the controller reports them after 30 seconds")
	turns[waiting].Wait()
	return errors.Join(errs...)
}

// playOne plays a sample and waits for its Events.
func playOne(ctx context.Context, on *play.Stage, s *play.Sample) error {
	err := s.Create(ctx, on)
	if err != nil {
		return err
	}
	err = s.Play(ctx, on)
	if err != nil {
		return err
	}
	s.Check(ctx, on)
	return nil
}

// A turn is when a sample is played.
type turn int

const (
	waiting turn = iota // from the start to the end: it takes half a minute
	usual
	killing // after the usual ones
)

func turnOf(s *play.Sample) turn {
	switch {
	case s.CancelAfter != "":
		return waiting
	case s.KillAfter > 0:
		return killing
	}
	return usual
}
