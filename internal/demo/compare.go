// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

const (
	runs    = 50 // of each controller
	failing = runs / 3
	kills   = 3
)

// newRun returns the i-th run of each controller. Its pod takes a second, on a
// real cluster too.
func newRun(i int) *v1alpha1.AgentRun {
	run := play.NewLoad("run", i)
	run.Spec.PodAnnotations[kubelet.DelayAnnotation] = "1s"
	run.Spec.Command = []string{"sh", "-c", "sleep 1"}
	if play.Truth(run) == v1alpha1.Failed {
		run.Spec.Command[2] = "sleep 1; exit 1"
	}
	return run
}

// compare creates runs for both controllers, kills both at the same moments, and
// prints what each has lost. It returns what the example did not do as promised.
func (p *place) compare(ctx context.Context, out io.Writer, record string) (differs []string, err error) {
	usual, example := &tally{controller: p.usual}, &tally{controller: p.example}
	both := []*tally{usual, example}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, t := range both {
		_, err := t.Watch(ctx, t.change)
		if err != nil {
			return nil, err
		}
	}
	fmt.Fprint(out, `A run is a Job, and a status in which the controller records how the Job ended.
usual          on controller-runtime alone, as many are written: internal/demo/baseline/usual.go
controllerkit  on controller-runtime with these packages: examples/agentrun/controller

`)
	f := newFilm(out)
	f.say("creates %d runs for each: a third succeed, a third succeed and keep no Job, a third fail", runs)
	var uncreated error
	var creating sync.WaitGroup
	creating.Go(func() { uncreated = create(ctx, both) })
	defer creating.Wait()
	for range kills {
		play.Pause(ctx, 2*time.Second)
		err := f.restart(ctx, usual, example)
		if err != nil {
			return nil, err
		}
	}
	creating.Wait()
	if uncreated != nil {
		return nil, uncreated
	}
	within(ctx, 2*time.Minute, func() bool { return usual.ended()+example.ended() == 2*runs })
	f.say("usual has ended %d runs and controllerkit %d", usual.ended(), example.ended())
	// An Event may be later than the end of its run.
	within(ctx, 5*time.Second, func() bool { return usual.silent()+example.silent() == 0 })
	for _, t := range both {
		err := t.count(ctx)
		if err != nil {
			return nil, err
		}
	}
	f.table(both)
	explain(out, usual)
	return example.differs(), f.save(record)
}

// create creates the runs, five a second, so that each kill comes when some are
// in flight.
func create(ctx context.Context, both []*tally) error {
	for i := range runs {
		for _, t := range both {
			_, err := t.Runs.Create(ctx, newRun(i), metav1.CreateOptions{})
			if err != nil {
				return err
			}
		}
		play.Pause(ctx, 200*time.Millisecond)
	}
	return nil
}

// restart kills the controllers, and starts them two seconds later.
func (f *film) restart(ctx context.Context, usual, example *tally) error {
	const killed = "kills both (kill -9) when usual has ended %d runs and controllerkit %d"
	f.say(killed, usual.ended(), example.ended())
	both := []*tally{usual, example}
	for _, t := range both {
		err := t.count(ctx)
		if err != nil {
			return err
		}
	}
	for _, t := range both {
		err := t.process.Kill()
		if err != nil {
			return err
		}
	}
	play.Pause(ctx, 2*time.Second)
	errs := make([]error, len(both))
	var starting sync.WaitGroup
	for i, t := range both {
		starting.Go(func() { errs[i] = t.start(ctx) })
	}
	starting.Wait()
	f.say("both run again")
	return errors.Join(errs...)
}

// table prints one line for each controller.
func (f *film) table(both []*tally) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tresults lost\tran twice\tfailures without an Event\treconciles\tstatus writes")
	for _, t := range both {
		fmt.Fprintf(table, "%s\t%d of %d\t%d of %d\t%d of %d\t%.0f\t%d\n", t.name,
			len(t.lost()), runs, len(t.twice()), runs, t.silent(), failing, t.reconciles, t.writes)
	}
	_ = table.Flush() // a Builder returns no error
	f.line("")
	for line := range strings.Lines(text.String()) {
		f.line(strings.TrimSuffix(line, "\n"))
	}
}

// explain shows one result that the usual controller has lost.
func explain(out io.Writer, usual *tally) {
	lost := usual.lost()
	if len(lost) == 0 {
		fmt.Fprintln(out, "\nusual has lost no result this time: that depends on the moment of each kill.")
		return
	}
	run := lost[0]
	fmt.Fprintf(out, `
For example, the pod of %s %s, but under usual its status says:
  %s
usual gives a Job its TTL when it creates the Job, controllerkit when the result is recorded.
`, run.Name, strings.ToLower(string(play.Truth(run))), said(run))
}

// within waits until something is true, or the time has passed.
func within(ctx context.Context, limit time.Duration, done func() bool) {
	look := func(context.Context) (bool, error) { return done(), nil }
	_ = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, limit, true, look)
}
