// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// play creates the runs of every sample and shows their changes, on a terminal
// as a table that it draws over. It returns when all runs have ended, or after
// three minutes. Samples that kill the controller come after the usual ones,
// whose Events a killed process could lose.
func (p *place) play(ctx context.Context, out io.Writer, all []*play.Sample, record string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	watching, stop := context.WithCancel(ctx)
	var drawing sync.WaitGroup
	table := screenOf(out, os.Getenv)
	if table != nil && !table.fits(len(all)+2) {
		table = nil
	}
	if record != "" {
		film := new(film)
		table = film.screen()
		defer func() { // the last frame has been drawn
			if err == nil {
				err = os.WriteFile(record, film.svg(), 0o644) //nolint:gosec // the file's mode in git
			}
		}()
	}
	defer drawing.Wait()
	defer stop()
	change, ended := p.follow(watching, out, all, table, &drawing)
	watched, err := p.stage.Watch(watching, change)
	drawing.Go(watched)
	if err != nil {
		return err
	}
	err = p.playAll(ctx, all)
	if err != nil {
		return err
	}
	return drawn(ctx, all, ended)
}

// follow draws the table until ctx ends, or prints a line per change if there
// is no table. The watch calls change, and ended reports whether it has shown a
// run's end.
func (p *place) follow(
	ctx context.Context, out io.Writer, all []*play.Sample, table *screen, drawing *sync.WaitGroup,
) (change func(was, is any), ended func(name string) bool) {
	if table == nil {
		heading(out, "The samples, one line per change")
		b := newBoard(out, all, &p.jobs)
		p.stage.Say = b.say
		return b.change, b.ended
	}
	heading(out, "The samples")
	l := newLive(all, &p.jobs)
	p.stage.Say = l.say
	drawing.Go(func() { l.keep(ctx, table) })
	return l.change, l.ended
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

// drawn waits until the watch has shown the end of every run. The players read
// the API server, and the watch may be behind them.
func drawn(ctx context.Context, all []*play.Sample, ended func(name string) bool) error {
	return wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		for _, s := range all {
			if slices.ContainsFunc(s.Names(), func(name string) bool { return !ended(name) }) {
				return false, nil
			}
		}
		return true, nil
	})
}

// board prints changes: a line for each of a single run, and a line of counts
// for the runs that a sample has many of.
type board struct {
	*live

	out              io.Writer
	started, printed time.Time
}

func newBoard(out io.Writer, all []*play.Sample, jobs *play.Jobs) *board {
	return &board{live: newLive(all, jobs), out: out, started: time.Now()}
}

func (b *board) say(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line("(the demo)", what)
}

func (b *board) change(was, is any) {
	b.mu.Lock()
	defer b.mu.Unlock() // a run whose end is seen has its line
	b.set(is)
	run, ok := is.(*v1alpha1.AgentRun)
	if !ok || b.sampleOf[run.Name] == nil {
		return
	}
	before, known := was.(*v1alpha1.AgentRun)
	s, st := b.sampleOf[run.Name], run.Status
	switch {
	case known && before.Status.Phase == st.Phase && (s.Copies > 1 || before.Status.Reason == st.Reason):
	case s.Copies > 1:
		b.count(s)
	default:
		phase := cmp.Or(st.Phase, "(created)")
		text := fmt.Sprintf("%-10s %-20s %s", phase, st.Reason, st.Message)
		b.line(run.Name, strings.TrimSpace(text)+expected(s, run))
	}
}

// expected marks a failure that the sample promises.
func expected(s *play.Sample, run *v1alpha1.AgentRun) string {
	if run.Status.Phase != v1alpha1.Failed || s.Phase != string(v1alpha1.Failed) {
		return ""
	}
	return " (expected)"
}

// count prints at most two lines a second, and the last one always.
func (b *board) count(s *play.Sample) {
	phases := b.phases(s)
	if len(phases) == 1 {
		for _, runs := range phases {
			if runs < s.Copies {
				return
			}
		}
	} else if time.Since(b.printed) < 500*time.Millisecond {
		return
	}
	b.printed = time.Now()
	b.line(s.Run.Name, counts(phases))
}

func (b *board) line(name, text string) {
	fmt.Fprintf(b.out, "%5.1fs  %-15s %s\n", time.Since(b.started).Seconds(), name, text)
}
