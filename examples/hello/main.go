// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command hello shows each package of controllerkit in a few lines, on
// hand-written fakes: no cluster, no set-up.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/status"
)

func main() {
	ctx := context.Background()
	shows := []func(context.Context, io.Writer) error{
		helloStatus,
		helloEvents,
		helloJobGC,
		helloMetrics,
		helloRollout,
	}
	for _, show := range shows {
		err := show(ctx, os.Stdout)
		if err != nil {
			fmt.Fprintln(os.Stderr, "hello:", err)
			os.Exit(1)
		}
	}
}

// helloStatus makes one patch for the whole status, pinned to the version that
// was read. It makes none if nothing changed.
func helloStatus(_ context.Context, out io.Writer) error {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	running := status.Facts{Progress: status.Running}
	before := newRun()
	run := before.DeepCopy()
	run.Status.Phase = "Running"
	names := status.FieldNames{} // the names of status.Stamp
	patch, err := names.Patch(before, run, running, now)
	if err != nil {
		return err
	}
	again, err := names.Patch(run, run.DeepCopy(), running, now.Add(time.Minute))
	fmt.Fprintf(out, "status    the run starts   %s\n", patch)
	fmt.Fprintf(out, "status    a minute later   %d bytes: nothing changed, nothing is written\n", len(again))
	return err
}

// helloEvents records the same failure a thousand times: one Event with a count
// and without the password.
func helloEvents(ctx context.Context, out io.Writer) error {
	fake := new(fakeEvents)
	// In a controller: events.NewSink(cs.EventsV1().Events, cs.CoreV1().Events).
	sink := events.NewCoreSink(func(string) *fakeEvents { return fake })
	rec, err := events.New(sink, "agents.example.com/agentrun", events.Options{})
	if err != nil {
		return err
	}
	run := newRun()
	for range 1000 {
		rec.Failure(run, errors.New("dial postgres://agent:hunter2@db/runs: connection refused"))
	}
	err = rec.Flush(ctx) // a controller runs rec.RunWith, which also flushes at its end
	if err != nil {
		return err
	}
	e := fake.last
	fmt.Fprintf(out, "events    1000 failures    %d write: %s %s x%d %q\n",
		fake.writes, e.Type, e.Reason, e.Count, e.Message)
	return nil
}

// helloJobGC inspects a finished Job and a missing one. A Job is missing only
// with proof.
func helloJobGC(ctx context.Context, out io.Writer) error {
	complete := batchv1.JobCondition{Type: batchv1.JobComplete, Status: "True"}
	jobs := fakeJobs{"agent-1": {
		ObjectMeta: metav1.ObjectMeta{Name: "agent-1", UID: "1"},
		Status:     batchv1.JobStatus{Conditions: []batchv1.JobCondition{complete}},
	}}
	for _, name := range []string{"agent-1", "agent-2"} {
		f, err := jobgc.Inspect(ctx, jobs, jobgc.Ref{Name: name, UID: "1"})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "jobgc     Job %-12s %s %s (source: %s)\n", name, f.State, f.Outcome, f.Source)
	}
	return nil
}

// helloMetrics measures reconciles that succeed and fail with two lines.
func helloMetrics(ctx context.Context, out io.Writer) error {
	provider := new(fakeMeters) // metrics/prom has the one for Prometheus
	m, err := metrics.New(provider, metrics.Options{IsTerminal: events.IsTerminal})
	if err != nil {
		return err
	}
	c := m.Controller("agentrun")
	reconcile := func(key string, answer error) (err error) {
		_, done := c.Begin(ctx, key)
		defer done(&err, nil)
		return answer
	}
	_ = reconcile("run-1", nil)
	_ = reconcile("run-2", nil)
	_ = reconcile("run-3", errors.New("connection refused"))
	fmt.Fprintf(out, "metrics   3 reconciles     %s\n", provider.counted("controller.reconciles"))
	return nil
}

// helloRollout renders the Deployment itself, a canary, and a canary that is
// refused because its pause would do nothing.
func helloRollout(_ context.Context, out io.Writer) error {
	deployment := newDeployment(5)
	off, err := rollout.Render(deployment, false, rollout.Options{})
	if err != nil {
		return err
	}
	canary, errs := rollout.Convert(deployment, rollout.Options{})
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	pods, stable := canary.Counts(20)
	steps := []rollout.Step{rollout.PauseFor(time.Minute), rollout.SetWeight(50), rollout.PauseManual()}
	_, err = rollout.Render(deployment, true, rollout.Options{Steps: steps})
	fmt.Fprintf(out, "rollout   off and on       "+
		"the same Deployment: %t; a %s that pauses at %d new and %d old pods\n",
		off == deployment, canary.Kind, pods, stable)
	fmt.Fprintf(out, "rollout   a pause first    %v\n", err)
	return nil
}
