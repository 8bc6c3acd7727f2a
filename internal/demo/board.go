// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// board prints changes: a line for each of a single run, and a line of counts
// for the runs that a sample has many of.
type board struct {
	out      io.Writer
	film     film
	sampleOf map[string]*play.Sample // by the name of a run
	jobs     *play.Jobs
	started  time.Time

	mu      sync.Mutex
	runs    map[string]*v1alpha1.AgentRun
	printed time.Time // the last line of counts
}

func newBoard(out io.Writer, all []*play.Sample, jobs *play.Jobs) *board {
	b := &board{
		out: out, jobs: jobs, started: time.Now(),
		sampleOf: map[string]*play.Sample{}, runs: map[string]*v1alpha1.AgentRun{},
	}
	for _, s := range all {
		for _, name := range s.Names() {
			b.sampleOf[name] = s
		}
	}
	return b
}

func (b *board) say(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line("(the demo)", what)
}

// change takes a version of an object from the watch.
func (b *board) change(_, is any) {
	b.jobs.Change(is)
	run, ok := is.(*v1alpha1.AgentRun)
	if !ok || b.sampleOf[run.Name] == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock() // a run whose end is seen has its line
	before := cmp.Or(b.runs[run.Name], new(v1alpha1.AgentRun)).Status
	b.runs[run.Name] = run
	s, now := b.sampleOf[run.Name], run.Status
	switch {
	case s.Copies > 1:
		if before.Phase != now.Phase {
			b.count(s)
		}
	case before.Phase != now.Phase || before.Reason != now.Reason:
		text := fmt.Sprintf("%-18s %-20s %s", string(now.Phase)+expected(s, run), now.Reason, now.Message)
		b.line(run.Name, strings.TrimSpace(text))
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
	phases := map[v1alpha1.Phase]int{}
	for _, name := range s.Names() {
		if run := b.runs[name]; run != nil {
			phases[run.Status.Phase]++
		}
	}
	var parts []string
	ended := false
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		parts = append(parts, fmt.Sprintf("%d %s", phases[phase], cmp.Or(phase, "created")))
		ended = phases[phase] == s.Copies
	}
	if !ended && time.Since(b.printed) < 500*time.Millisecond {
		return
	}
	b.printed = time.Now()
	b.line(s.Run.Name, strings.Join(parts, ", "))
}

func (b *board) line(name, text string) {
	at := time.Since(b.started)
	line := fmt.Sprintf("%5.1fs  %-15s %s", at.Seconds(), name, text)
	fmt.Fprintln(b.out, line)
	b.film.add(at, line)
}

// finish shows how all runs ended. The players read the API server, and the
// watch, which has ended, may have been behind them.
func (b *board) finish(runs []v1alpha1.AgentRun) {
	for i := range runs {
		b.change(nil, &runs[i])
	}
}
