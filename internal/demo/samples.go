// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// sample is a sample that was played.
type sample struct {
	*play.Sample

	differs []string // from its promise
}

// playSamples plays all samples concurrently.
func (p *place) playSamples(ctx context.Context) ([]sample, error) {
	all, err := play.Load()
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	watched, err := p.samples.Watch(watching, func(_, is any) { p.jobs.Change(is) })
	defer watched()
	defer stop()
	if err != nil {
		return nil, err
	}
	played := make([]sample, len(all))
	errs := make([]error, len(all))
	var playing sync.WaitGroup
	for i, s := range all {
		playing.Go(func() {
			played[i], errs[i] = p.playSample(ctx, s)
		})
	}
	playing.Wait()
	return played, errors.Join(errs...)
}

func (p *place) playSample(ctx context.Context, s *play.Sample) (sample, error) {
	err := s.Create(ctx, p.samples.Stage)
	if err != nil {
		return sample{}, err
	}
	err = s.Play(ctx, p.samples.Stage)
	if err != nil {
		return sample{}, err
	}
	return sample{s, s.Check(ctx, p.samples.Stage)}, nil
}

// show prints how the samples ended, what kubectl says of two, and a metric.
func (p *place) show(ctx context.Context, out io.Writer, all []sample) (differs []string, err error) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\tEvents: %s\n",
			s.Run.Name, s.Phase, s.Reason, s.mark(), cmp.Or(strings.Join(s.Events, ", "), "none"))
		differs = append(differs, s.differs...)
	}
	err = table.Flush()
	if err != nil {
		return nil, err
	}
	if len(differs) == 0 {
		fmt.Fprintln(out, "Every sample ended as its file promises.")
	}
	for _, run := range []string{"missing-secret", "job-deleted"} {
		of := []string{"--namespace=" + p.samples.Namespace, "events", "--for=agentrun/" + run}
		text, err := p.kubectl.Run(ctx, nil, of...)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "\n$ kubectl events --for=agentrun/%s\n%s", run, text)
	}
	jobs, again := p.jobs.Count()
	fmt.Fprintf(out, "\nJobs: %d for %d runs; more than one for a run: %d\n", jobs, len(all), len(again))
	for _, name := range again {
		differs = append(differs, name+": it has had another Job")
	}
	const metric = "controller_missing_jobs_total"
	missing, err := p.samples.process.Value(ctx, metric, nil)
	fmt.Fprintf(out, "%s in /metrics: %.0f\n", metric, missing)
	return differs, err
}

func (s sample) mark() string {
	switch {
	case len(s.differs) > 0:
		return "DIFFERS"
	case s.Phase == string(v1alpha1.Failed):
		return "ok, expected to fail"
	case s.JobGone:
		return "ok, its Job is gone"
	}
	return "ok"
}
