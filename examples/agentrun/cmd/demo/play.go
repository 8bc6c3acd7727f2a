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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/samples"
)

// play creates every sample, shows what changes, on a terminal as a table that is drawn over, and returns when all have ended,
// or after two minutes.
func (p *place) play(ctx context.Context, out io.Writer, all []*samples.Sample) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	watching, stop := context.WithCancel(ctx)
	var watch, players sync.WaitGroup
	defer watch.Wait()
	defer stop()
	table := screenOf(out, os.Getenv)
	if table != nil && !table.fits(len(all)+2) {
		table = nil
	}
	if table != nil {
		heading(out, "The samples")
		l := newLive(all)
		p.stage.Say = l.say
		watch.Go(func() { p.watch(watching, new(v1alpha1.AgentRun), l.change) })
		watch.Go(func() { p.watch(watching, new(corev1.Event), l.change) })
		watch.Go(func() { l.keep(watching, table) })
	} else {
		heading(out, "The samples, one line per change")
		b := newBoard(out, all)
		p.stage.Say = b.say
		watch.Go(func() { p.watch(watching, new(v1alpha1.AgentRun), b.change) })
	}

	errs := make([]error, len(all))
	for i, s := range all {
		players.Go(func() {
			if errs[i] = s.Create(ctx, p.stage); errs[i] == nil {
				errs[i] = s.Play(ctx, p.stage)
			}
		})
	}
	players.Wait()
	return errors.Join(errs...)
}

// watch tells of each change of the runs, or of their events, until ctx ends.
func (p *place) watch(ctx context.Context, kind runtime.Object, change func(was, is any)) {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return p.stage.Runs.List(ctx, opts)
		},
		WatchFuncWithContext: p.stage.Runs.Watch,
	}
	if _, ok := kind.(*corev1.Event); ok {
		events := p.stage.Kube.CoreV1().Events(namespace)
		lw.ListWithContextFunc = func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return events.List(ctx, opts)
		}
		lw.WatchFuncWithContext = events.Watch
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

// board prints changes: a line for each of a single run, and a line of counts for the runs that a sample has many of.
type board struct {
	out     io.Writer
	started time.Time

	mu      sync.Mutex
	samples map[string]*samples.Sample
	phases  map[string]map[v1alpha1.Phase]int // of samples with many runs
	printed time.Time
}

func newBoard(out io.Writer, all []*samples.Sample) *board {
	b := &board{out: out, started: time.Now(), samples: map[string]*samples.Sample{}, phases: map[string]map[v1alpha1.Phase]int{}}
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
	b.line(run.Name, strings.TrimSpace(fmt.Sprintf("%-10s %-20s %s", phase, st.Reason, st.Message)))
}

// count prints at most two lines a second, and the last one always.
func (b *board) count(s *samples.Sample, before, run *v1alpha1.AgentRun) {
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

func (b *board) line(name, text string) {
	fmt.Fprintf(b.out, "%5.1fs  %-15s %s\n", time.Since(b.started).Seconds(), name, text)
}
