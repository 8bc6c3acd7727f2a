// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

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

// counts prints the demo's counts and the controller's metrics, including the
// metrics of the killed process.
func (p *place) counts(ctx context.Context, out io.Writer, all []*play.Sample) error {
	now, err := p.controller.Metrics(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, s := range all {
		n += s.Copies
	}
	fmt.Fprintf(out, "%-14s killed once, with %d runs in flight; the next process was ready after %.1fs\n",
		"controller", p.killed.inFlight, p.killed.down.Seconds())
	jobs, again := p.jobs.Count()
	fmt.Fprintf(out, "%-14s %d for %d runs; more than one for a run: %d\n", "Jobs", jobs, n, len(again))
	for _, row := range []struct{ title, family, label string }{
		{"missing Jobs", "controller_missing_jobs_total", ""},
		{"status writes", "controller_status_writes_total", "result"},
		{"events", "controller_events_total", "result"},
		{"reconciles", "controller_reconciles_total", "result"},
	} {
		byLabel := map[string]float64{}
		for _, process := range []map[string]*dto.MetricFamily{p.killed.metrics, now} {
			for _, m := range process[row.family].GetMetric() {
				byLabel[label(m, row.label)] += m.GetCounter().GetValue()
			}
		}
		var parts []string
		for _, l := range slices.Sorted(maps.Keys(byLabel)) {
			if n := byLabel[l]; n != 0 {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%.0f %s", n, l)))
			}
		}
		fmt.Fprintf(out, "%-14s %s\n", row.title, strings.Join(parts, ", "))
	}
	return nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
