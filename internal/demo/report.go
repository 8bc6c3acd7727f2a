// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// show prints how a sample ended.
func (p *place) show(out io.Writer, s *play.Sample, wrong []string) {
	mark := "ok"
	switch {
	case len(wrong) > 0:
		mark = "DIFFERS"
	case s.Phase == string(v1alpha1.Failed):
		mark = "ok, expected to fail"
	case s.JobGone:
		mark = "ok, its Job is gone"
	}
	name := s.Run.Name
	if s.Copies > 1 {
		name = fmt.Sprintf("%s (%d runs)", name, s.Copies)
	}
	fmt.Fprintf(out, "%-17s %-10s %-20s %s\n", name, s.Phase, s.Reason, mark)
}

// kubectlEvents prints the Events of runs as kubectl does.
func (p *place) kubectlEvents(ctx context.Context, out io.Writer, runs ...string) error {
	for _, run := range runs {
		args := []string{"events", "--for=agentrun/" + run}
		text, err := p.kubectl.Run(ctx, nil, append([]string{"--namespace=" + namespace}, args...)...)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "$ kubectl %s\n%s", strings.Join(args, " "), text)
	}
	return nil
}

// counter is one of the controller's metrics.
type counter struct {
	title, family string
	labels        map[string]string
}

func counters() []counter {
	return []counter{
		{"missing Jobs", "controller_missing_jobs_total", nil},
		{"status writes", "controller_status_writes_total", map[string]string{"result": "written"}},
		{"events", "controller_events_total", map[string]string{"result": "emitted"}},
		{"reconciles", "controller_reconciles_total", nil},
	}
}

// count adds what the running process has counted.
func (p *place) count(ctx context.Context) error {
	for _, c := range counters() {
		n, err := p.controller.Value(ctx, c.family, c.labels)
		if err != nil {
			return err
		}
		p.counted[c.title] += n
	}
	return nil
}

// counts prints the demo's counts and those of both processes.
func (p *place) counts(ctx context.Context, out io.Writer, all []*play.Sample) error {
	err := p.count(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, s := range all {
		n += s.Copies
	}
	fmt.Fprintf(out, "%-14s killed once, with %d runs in flight; the next process was ready after %.1fs\n",
		"controller", p.inFlight, p.down.Seconds())
	jobs, again := p.jobs.Count()
	fmt.Fprintf(out, "%-14s %d for %d runs; more than one for a run: %d\n", "Jobs", jobs, n, len(again))
	for _, c := range counters() {
		fmt.Fprintf(out, "%-14s %.0f\n", c.title, p.counted[c.title])
	}
	return nil
}
