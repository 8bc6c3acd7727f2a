// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/status"
)

// live is the table of the samples in their current state.
type live struct {
	all      []*play.Sample
	sampleOf map[string]*play.Sample // by the name of a run
	jobs     *play.Jobs

	mu     sync.Mutex
	runs   map[string]*v1alpha1.AgentRun
	events map[string]*corev1.Event // the last one of each run
	note   string
}

func newLive(all []*play.Sample, jobs *play.Jobs) *live {
	l := &live{
		all: all, jobs: jobs, sampleOf: map[string]*play.Sample{},
		runs: map[string]*v1alpha1.AgentRun{}, events: map[string]*corev1.Event{},
	}
	for _, s := range all {
		for _, name := range s.Names() {
			l.sampleOf[name] = s
		}
	}
	return l
}

func (l *live) change(_, is any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(is)
}

func (l *live) set(is any) {
	l.jobs.Change(is)
	switch is := is.(type) {
	case *v1alpha1.AgentRun:
		l.runs[is.Name] = is
	case *corev1.Event:
		if last := l.events[is.InvolvedObject.Name]; last == nil || !happened(is).Before(happened(last)) {
			l.events[is.InvolvedObject.Name] = is
		}
	}
}

func (l *live) say(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = "(the demo) " + what
}

// ended reports whether the watch has shown the end of a run, and its Job.
func (l *live) ended(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := l.runs[name]
	return run != nil && terminal(run) && (run.Status.JobRef == nil || l.jobs.Has(run.Status.JobRef.UID))
}

// keep draws the table until ctx ends, and one last time then.
func (l *live) keep(ctx context.Context, s *screen) {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		s.draw(func(width int, coloured bool) []string {
			rows, note := l.rows(time.Now())
			return render(rows, note, width, coloured)
		})
		if ctx.Err() != nil {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// rows returns a row for each sample, in their order.
func (l *live) rows(now time.Time) (rows []row, note string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		rows = append(rows, l.row(s, now))
	}
	return rows, l.note
}

// row sums up the runs of a sample: all their phases, the age of the oldest,
// the last Job and the last event.
func (l *live) row(s *play.Sample, now time.Time) row {
	r := row{name: s.Run.Name, age: -1, event: summaryOf(l.lastEvent(s))}
	for _, name := range s.Names() {
		run := l.runs[name]
		if run == nil {
			continue
		}
		r.age = max(r.age, lifetime(run, now))
		if run.Status.JobRef != nil {
			r.job = run.Status.JobRef.Name
		}
	}
	r.phase, r.tone = summary(l.phases(s), s.Copies)
	if run := l.runs[s.Run.Name]; run != nil && expected(s, run) != "" {
		r.phase, r.tone = r.phase+expected(s, run), good
	}
	return r
}

// lifetime is how long a run has existed, until its end.
func lifetime(run *v1alpha1.AgentRun, now time.Time) time.Duration {
	end := now
	if run.Status.FinishedAt != nil {
		end = run.Status.FinishedAt.Time
	}
	return end.Sub(run.CreationTimestamp.Time)
}

// lastEvent returns the last Event about the known runs of a sample, or nil.
func (l *live) lastEvent(s *play.Sample) (last *corev1.Event) {
	for _, name := range s.Names() {
		e := l.events[name]
		if l.runs[name] == nil || e == nil {
			continue
		}
		if last == nil || happened(e).After(happened(last)) {
			last = e
		}
	}
	return last
}

// summaryOf is the text of an Event, and how often it happened. No Event has
// none.
func summaryOf(e *corev1.Event) string {
	switch {
	case e == nil:
		return ""
	case e.Series != nil && e.Series.Count > 1:
		return fmt.Sprintf("%s x%d: %s", e.Reason, e.Series.Count, e.Message)
	}
	return e.Reason + ": " + e.Message
}

// phases counts the runs of a sample by phase.
func (l *live) phases(s *play.Sample) map[v1alpha1.Phase]int {
	phases := map[v1alpha1.Phase]int{}
	for _, name := range s.Names() {
		if run := l.runs[name]; run != nil {
			phases[run.Status.Phase]++
		}
	}
	return phases
}

func counts(phases map[v1alpha1.Phase]int) string {
	var parts []string
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		parts = append(parts, fmt.Sprintf("%d %s", phases[phase], cmp.Or(phase, "created")))
	}
	return strings.Join(parts, ", ")
}

func summary(phases map[v1alpha1.Phase]int, copies int) (text string, t tone) {
	ended := phases[v1alpha1.Succeeded] + phases[v1alpha1.Failed]
	switch {
	case len(phases) == 0:
		return "", calm
	case copies == 1:
		for phase := range phases {
			text = string(cmp.Or(phase, "(created)"))
		}
	case ended < copies:
		text = fmt.Sprintf("%d of %d ended", ended, copies)
	default:
		text = counts(phases)
	}
	switch {
	case phases[v1alpha1.Succeeded] == copies:
		t = good
	case phases[v1alpha1.Failed] > 0:
		t = bad
	default:
		t = working
	}
	return text, t
}

// happened is when an event was written last.
func happened(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}

func terminal(run *v1alpha1.AgentRun) bool { return run.Status.Phase.Progress() == status.Done }
