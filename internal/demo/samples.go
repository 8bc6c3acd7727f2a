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

// playSamples plays all samples concurrently.
func (p *place) playSamples(ctx context.Context, all []*play.Sample) error {
	watching, stop := context.WithCancel(ctx)
	watched, err := p.samples.Watch(watching, func(_, is any) { p.jobs.Change(is) })
	defer watched()
	defer stop()
	if err != nil {
		return err
	}
	errs := make([]error, len(all))
	var playing sync.WaitGroup
	for i, s := range all {
		playing.Go(func() {
			errs[i] = s.Create(ctx, p.samples.Stage)
			if errs[i] == nil {
				errs[i] = s.Play(ctx, p.samples.Stage)
			}
		})
	}
	playing.Wait()
	return errors.Join(errs...)
}

// show prints how the samples ended, what kubectl says of two, and a metric.
func (p *place) show(ctx context.Context, out io.Writer, all []*play.Sample) (differs []string, err error) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range all {
		wrong := s.Check(ctx, p.samples.Stage)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\tEvents: %s\n",
			s.Run.Name, s.Phase, s.Reason, mark(s, wrong), cmp.Or(strings.Join(s.Events, ", "), "none"))
		differs = append(differs, wrong...)
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

func mark(s *play.Sample, wrong []string) string {
	switch {
	case len(wrong) > 0:
		return "DIFFERS"
	case s.Phase == string(v1alpha1.Failed):
		return "ok, expected to fail"
	case s.JobGone:
		return "ok, its Job is gone"
	}
	return "ok"
}
