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

	"github.com/proompteng/controllerkit/examples/agentrun/samples"
)

// show prints one sample's last status and its events as kubectl prints them.
func (p *place) show(ctx context.Context, out io.Writer, s *samples.Sample, wrong []string) error {
	mark := "ok"
	if len(wrong) > 0 {
		mark = "DIFFERS"
	}
	fmt.Fprintf(out, "\n%s  %s\n", s.File, mark)
	fmt.Fprintf(out, "  # %s\n", s.Title)
	names := s.Names()
	if len(names) > 1 {
		names = names[:1] // one of them stands for all
	}
	if err := p.print(ctx, out, "get", "aruns", names[0]); err != nil {
		return err
	}
	for _, name := range names {
		if len(s.Events) == 0 {
			continue
		}
		if err := p.print(ctx, out, "events", "--for=agentrun/"+name); err != nil {
			return err
		}
	}
	if s.JobGone {
		fmt.Fprintln(out, "  checked: its Job is gone")
	}
	if s.Copies > 1 {
		fmt.Fprintf(out, "  ... and %d more like it\n", s.Copies-1)
	}
	return nil
}

func (p *place) print(ctx context.Context, out io.Writer, args ...string) error {
	text, err := p.kubectl.Run(ctx, nil, append([]string{"--namespace=" + namespace}, args...)...)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  $ kubectl %s\n", strings.Join(args, " "))
	for line := range strings.Lines(text) {
		fmt.Fprint(out, "  ", line)
	}
	return nil
}

// counts prints what the controller wrote, by its own metrics.
func (p *place) counts(ctx context.Context, out io.Writer) error {
	families, err := p.controller.Metrics(ctx)
	if err != nil {
		return err
	}
	for _, row := range []struct{ title, family, label string }{
		{"status writes", "controller_status_writes_total", "result"},
		{"events", "controller_events_total", "fate"},
		{"runs that ran", "controller_runs_total", "result"},
		{"reconciles", "controller_reconciles_total", "result"},
		{"missing Jobs", "controller_missing_jobs_total", ""},
	} {
		byLabel := map[string]float64{}
		for _, m := range families[row.family].GetMetric() {
			byLabel[label(m, row.label)] += m.GetCounter().GetValue()
		}
		var parts []string
		for _, l := range slices.Sorted(maps.Keys(byLabel)) {
			if n := byLabel[l]; n != 0 {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%.0f %s", n, l)))
			}
		}
		fmt.Fprintf(out, "%-15s %s\n", row.title, strings.Join(parts, ", "))
	}
	fmt.Fprint(out, `A run costs five writes of status (waiting, Job created, running, ended, Job released), one Job and one patch of it.
"unchanged" never left the process. A reconcile that asks for another one later (heartbeat, retention) counts as requeue_after.
`)
	return nil
}

// page prints the metrics that are not zero, but for the buckets of histograms.
func (p *place) page(ctx context.Context, out io.Writer) error {
	families, err := p.controller.Metrics(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if !strings.HasPrefix(name, "controller_") {
			continue
		}
		for _, m := range families[name].GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			series := name + "{" + strings.Join(labels, ",") + "}"
			if h := m.GetHistogram(); h != nil {
				if h.GetSampleCount() > 0 {
					fmt.Fprintf(out, "%s count %d, mean %.3fs\n", series, h.GetSampleCount(), h.GetSampleSum()/float64(h.GetSampleCount()))
				}
				continue
			}
			if v := m.GetCounter().GetValue() + m.GetGauge().GetValue(); v != 0 {
				fmt.Fprintf(out, "%s %g\n", series, v)
			}
		}
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
