// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// play creates the runs of every sample and shows their changes, on a terminal
// as a table that it draws over. It returns when all runs have ended, or after
// three minutes. Samples that kill the controller come after the others, whose
// Events a killed process could lose.
func (p *place) play(ctx context.Context, out io.Writer, all []*play.Sample, record string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	watching, stop := context.WithCancel(ctx)
	var watch, players sync.WaitGroup
	var ended func(name string) bool
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
	defer watch.Wait()
	defer stop()
	if table != nil {
		heading(out, "The samples")
		l := newLive(all)
		p.stage.Say, ended = l.say, l.ended
		watch.Go(func() { p.watch(watching, new(v1alpha1.AgentRun), l.change) })
		watch.Go(func() { p.watch(watching, new(corev1.Event), l.change) })
		watch.Go(func() { l.keep(watching, table) })
	} else {
		heading(out, "The samples, one line per change")
		b := newBoard(out, all)
		p.stage.Say, ended = b.say, b.hasEnded
		watch.Go(func() { p.watch(watching, new(v1alpha1.AgentRun), b.change) })
	}

	watch.Go(func() { p.watch(watching, new(batchv1.Job), p.jobs.change) })

	errs := make([]error, len(all))
	for _, kills := range []bool{false, true} {
		for i, s := range all {
			if kills != (s.KillAfter > 0) {
				continue
			}
			players.Go(func() {
				if errs[i] = s.Create(ctx, p.stage); errs[i] == nil {
					errs[i] = s.Play(ctx, p.stage)
				}
				if errs[i] == nil {
					s.Check(ctx, p.stage) // waits for its Events
				}
			})
		}
		players.Wait()
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return drawn(ctx, all, ended)
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

// watch calls change with each change of an object of that kind, until ctx
// ends.
func (p *place) watch(ctx context.Context, kind runtime.Object, change func(was, is any)) {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return p.stage.Runs.List(ctx, opts)
		},
		WatchFuncWithContext: p.stage.Runs.Watch,
	}
	switch kind.(type) {
	case *corev1.Event:
		events := p.stage.Kube.CoreV1().Events(namespace)
		lw.ListWithContextFunc = func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return events.List(ctx, opts)
		}
		lw.WatchFuncWithContext = events.Watch
	case *batchv1.Job:
		jobs := p.stage.Kube.BatchV1().Jobs(namespace)
		lw.ListWithContextFunc = func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return jobs.List(ctx, opts)
		}
		lw.WatchFuncWithContext = jobs.Watch
	}
	informer := cache.NewSharedIndexInformer(lw, kind, 0, nil)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(is any) { change(nil, is) },
		UpdateFunc: change,
	}); err != nil {
		return
	}
	informer.RunWithContext(ctx)
}

// board prints changes: a line for each of a single run, and a line of counts
// for the runs that a sample has many of.
type board struct {
	out     io.Writer
	started time.Time

	mu      sync.Mutex
	samples map[string]*play.Sample
	phases  map[string]map[v1alpha1.Phase]int // of samples with many runs
	ended   map[string]bool
	printed time.Time
}

func newBoard(out io.Writer, all []*play.Sample) *board {
	b := &board{out: out, started: time.Now(), samples: map[string]*play.Sample{}, phases: map[string]map[v1alpha1.Phase]int{}, ended: map[string]bool{}}
	for _, s := range all {
		for _, name := range s.Names() {
			b.samples[name] = s
		}
	}
	return b
}

func (b *board) say(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line("(the demo)", what)
}

func (b *board) change(was, is any) {
	run, ok := is.(*v1alpha1.AgentRun)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.ended[run.Name] = terminal(run) }() // its line is printed then
	before, _ := was.(*v1alpha1.AgentRun)
	if s := b.samples[run.Name]; s != nil && s.Copies > 1 {
		b.count(s, before, run)
		return
	}
	st := run.Status
	if before != nil && before.Status.Phase == st.Phase && before.Status.Reason == st.Reason {
		return
	}
	phase := st.Phase
	if phase == "" {
		phase = "(created)"
	}
	b.line(run.Name, strings.TrimSpace(fmt.Sprintf("%-10s %-20s %s", phase, st.Reason, st.Message))+expected(b.samples[run.Name], run))
}

// expected marks a failure that the sample promises.
func expected(s *play.Sample, run *v1alpha1.AgentRun) string {
	if s == nil || run.Status.Phase != v1alpha1.Failed || s.Phase != string(v1alpha1.Failed) {
		return ""
	}
	return " (expected)"
}

// count prints at most two lines a second, and the last one always.
func (b *board) count(s *play.Sample, before, run *v1alpha1.AgentRun) {
	phases := b.phases[s.Run.Name]
	if phases == nil {
		phases = map[v1alpha1.Phase]int{}
		b.phases[s.Run.Name] = phases
	}
	if before != nil {
		if before.Status.Phase == run.Status.Phase {
			return
		}
		if phases[before.Status.Phase]--; phases[before.Status.Phase] == 0 {
			delete(phases, before.Status.Phase)
		}
	}
	phases[run.Status.Phase]++
	if len(phases) > 1 && time.Since(b.printed) < 500*time.Millisecond || phases[run.Status.Phase] < s.Copies && len(phases) == 1 {
		return
	}
	b.printed = time.Now()
	var parts []string
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		name := string(phase)
		if name == "" {
			name = "created"
		}
		parts = append(parts, fmt.Sprintf("%d %s", phases[phase], name))
	}
	b.line(s.Run.Name, strings.Join(parts, ", "))
}

func (b *board) hasEnded(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended[name]
}

func (b *board) line(name, text string) {
	fmt.Fprintf(b.out, "%5.1fs  %-15s %s\n", time.Since(b.started).Seconds(), name, text)
}
