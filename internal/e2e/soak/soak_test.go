// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/rig"
	"github.com/proompteng/controllerkit/examples/agentrun/samples"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/status"
)

const (
	namespace = "soak"
	workers   = 8
)

// inFlight is how many runs are there at most that have not ended: what the control plane of one machine keeps up with, and few enough
// that runs are left for every fault.
func inFlight(runs int) int { return min(400, runs/6) }

// fault is something that is killed when a part of the runs has ended.
type fault struct {
	percent int
	what    string
}

// faults of a whole soak: the API server three times, the controller twice. Of a short one: once each, for clients wait up to a minute
// after a server that has failed them repeatedly.
func faults() []fault {
	if os.Getenv("RUNS") == "" {
		return []fault{{25, "API server"}, {60, "controller"}}
	}
	return []fault{{10, "API server"}, {25, "controller"}, {45, "API server"}, {60, "controller"}, {75, "API server"}}
}

func TestSoak(t *testing.T) {
	runs, limit := size(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	stage, err := samples.NewStage(plane.Config(), namespace)
	require.NoError(t, err)
	_, err = stage.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	seen := watch(t, stage)
	c := &killable{t: t}
	c.start(ctx)
	t.Cleanup(func() { assert.NoError(t, c.p.Kill()) })

	began := time.Now()
	creating := make(chan error, 1)
	go func() { creating <- createAll(ctx, stage, seen, runs) }()
	killed, next := map[string]int{}, faults()
	for ended := 0; ended < runs; {
		select {
		case err := <-creating:
			require.NoError(t, err)
			creating = nil
		case <-ctx.Done():
			require.Fail(t, "the soak took too long", "%d of %d runs have ended after %s: %s", ended, runs, limit, seen.stuck())
		case <-time.After(time.Second):
		}
		ended = seen.ended()
		if len(next) > 0 && ended*100 >= runs*next[0].percent {
			c.kill(ctx, next[0].what)
			killed[next[0].what]++
			next = next[1:]
		}
		if second := int(time.Since(began).Seconds()); second%5 == 0 || ended == runs {
			fmt.Fprintf(os.Stderr, "soak: %4d s  %5d of %d runs ended, %d in flight; killed: API server %d, controller %d\n",
				second, ended, runs, seen.known()-ended, killed["API server"], killed["controller"])
		}
	}
	took := time.Since(began)
	require.Empty(t, next, "every fault happened")
	settle(ctx, t, stage)
	wrong, requests := untrue(ctx, t, stage, runs), audited(t)
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "soak: "+format+"\n", args...) }
	say("%d runs in %s (%.1f/s); API server killed %d times, controller %d times", runs, took.Round(time.Second), float64(runs)/took.Seconds(), killed["API server"], killed["controller"])
	say("untrue outcomes %d; Jobs created %d, of the same name %d; pods %d, more than one of a Job %d; runs seen with two Jobs %d",
		len(wrong), len(requests.created), twice(requests.created), len(requests.bound), twice(requests.bound), seen.jobsTwice())
	say("requests of the controller: %s", requests)
	assert.Empty(t, wrong, "runs whose outcome is not the true one")
	assert.Zero(t, twice(requests.created), "Jobs that were created twice")
	assert.Zero(t, seen.jobsTwice(), "runs with two Jobs")

	// What a server or a controller was doing when it was killed is done again, or was done and not noted.
	cut := len(faults()) * workers
	// Nor is the Job controller sure of a pod whose creation the killed server did not answer: a Job may start its program twice, as
	// Kubernetes documents of Jobs, and still has one outcome.
	assert.LessOrEqual(t, twice(requests.bound), cut, "Jobs with more than one pod")
	assert.InDelta(t, runs, requests.done("create jobs"), float64(cut), "one creation a run")
	assert.InDelta(t, runs, requests.done("patch jobs"), float64(cut), "one patch")
	assert.LessOrEqual(t, requests.sent("get jobs"), cut, "and no read")
	assert.InDelta(t, 4*runs, requests.done("patch agentruns/status"), float64(runs), "and four status writes, or three of a run that was quicker than its watch")
}

// size is how many runs there are to be, and how long they may take.
func size(t *testing.T) (runs int, limit time.Duration) {
	t.Helper()
	runs = 40
	if value := os.Getenv("RUNS"); value != "" {
		var err error
		runs, err = strconv.Atoi(value)
		require.NoError(t, err, "RUNS: %q is not accepted; want a number", value)
		require.GreaterOrEqual(t, runs, 10, "RUNS: %q is not accepted; want at least 10", value)
	}
	return runs, 5*time.Minute + time.Duration(runs)*300*time.Millisecond
}

// story is the i-th run: a third succeed, a third succeed and let their Job go as soon as its result is recorded, a third fail.
func story(i int) *v1alpha1.AgentRun {
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("run-%05d", i)}}
	run.Spec.Image = "busybox:1.37"
	run.Spec.PodAnnotations = map[string]string{kubelet.DelayAnnotation: "200ms"}
	switch i % 3 {
	case 1:
		run.Spec.JobTTLSecondsAfterFinished = new(int32(0))
	case 2:
		run.Spec.PodAnnotations[kubelet.OutcomeAnnotation] = kubelet.Fail
	}
	return run
}

// createAll creates the runs, not more at once than may be in flight, and as often as the API server needs to be asked.
func createAll(ctx context.Context, stage *samples.Stage, seen *ledger, runs int) error {
	const at = 8 // a time
	var all sync.WaitGroup
	errs := make([]error, at)
	for worker := range at {
		all.Go(func() {
			for i := worker; i < runs && errs[worker] == nil; i += at {
				for i-seen.ended() >= inFlight(runs) && ctx.Err() == nil {
					pause(ctx, 50*time.Millisecond)
				}
				errs[worker] = create(ctx, stage, story(i))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// create asks until the run is there.
func create(ctx context.Context, stage *samples.Stage, run *v1alpha1.AgentRun) error {
	for {
		_, err := stage.Runs.Create(ctx, run, metav1.CreateOptions{})
		switch {
		case err == nil || apierrors.IsAlreadyExists(err): // the reply to the attempt before was lost
			return nil
		case ctx.Err() != nil:
			return err
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// untrue are the runs that are not what their story says, as the API server has them now.
func untrue(ctx context.Context, t *testing.T, stage *samples.Stage, runs int) (wrong []string) {
	t.Helper()
	list, err := stage.Runs.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, runs)
	for i := range list.Items {
		run := &list.Items[i]
		var n int
		_, err := fmt.Sscanf(run.Name, "run-%d", &n)
		require.NoError(t, err)
		want, reason := v1alpha1.Succeeded, "JobSucceeded"
		if n%3 == 2 {
			want, reason = v1alpha1.Failed, "JobFailed"
		}
		st := run.Status
		whole := st.StartedAt != nil && st.FinishedAt != nil && !st.FinishedAt.Before(st.StartedAt) && st.ObservedGeneration == run.Generation
		if st.Phase != want || st.Reason != reason || !whole || st.Phase.Progress() != status.Done {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s %s", run.Name, st.Phase, st.Reason, st.Message))
		}
	}
	return wrong
}

// killable is the controller, and what else is killed.
type killable struct {
	t *testing.T
	p *rig.Process
}

func (k *killable) start(ctx context.Context) {
	k.t.Helper()
	logs := filepath.Join(plane.Dir(), "soak")
	require.NoError(k.t, os.MkdirAll(logs, 0o700))
	var err error
	k.p, err = rig.Start(ctx, program, logs, kubeconfig, []string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=60"}, "--namespaces="+namespace, fmt.Sprint("--workers=", workers))
	require.NoError(k.t, err)
}

// kill kills what a fault names by SIGKILL, and starts it again a few seconds later.
func (k *killable) kill(ctx context.Context, what string) {
	k.t.Helper()
	fmt.Fprintln(os.Stderr, "soak: killing the", what)
	if what == "controller" {
		require.NoError(k.t, k.p.Kill())
		pause(ctx, 3*time.Second)
		k.start(ctx)
		return
	}
	require.NoError(k.t, plane.APIServer.Kill())
	pause(ctx, 3*time.Second)
	require.NoError(k.t, plane.APIServer.Start(ctx))
}

// pause waits for d of real time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
