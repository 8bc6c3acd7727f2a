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
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/status"
)

const (
	namespace = "soak"
	workers   = 8
)

// inFlight limits the runs that have not ended. The control plane of one
// machine can handle them, and every fault hits some of them.
func inFlight(runs int) int { return min(400, runs/6) }

// fault kills a process after a part of the runs has ended.
type fault struct {
	percent int
	what    string
}

// faults of a full soak: the API server three times, the controller twice. A
// short soak has one of each, because clients wait up to a minute after
// repeated failures of a server.
func faults() []fault {
	if os.Getenv("RUNS") == "" {
		return []fault{{25, "API server"}, {60, "controller"}}
	}
	return []fault{{10, "API server"}, {25, "controller"}, {45, "API server"}, {60, "controller"}, {75, "API server"}}
}

//req:shows J3 J4
func TestSoak(t *testing.T) {
	runs, limit := size(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	stage, err := play.NewStage(plane.Config(), namespace)
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
	require.Empty(t, next, "every fault occurred")
	settle(ctx, t, stage)
	wrong, requests := untrue(ctx, t, stage, runs), audited(t)
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "soak: "+format+"\n", args...) }
	say("%d runs in %s (%.1f/s); API server killed %d times, controller %d times", runs, took.Round(time.Second), float64(runs)/took.Seconds(), killed["API server"], killed["controller"])
	say("untrue outcomes %d; Jobs created %d, of the same name %d; pods %d, more than one of a Job %d; runs seen with two Jobs %d",
		len(wrong), len(requests.created), twice(requests.created), len(requests.bound), twice(requests.bound), seen.jobsTwice())
	say("requests of the controller: %s", requests)
	assert.Empty(t, wrong, "runs with a wrong outcome")
	assert.Zero(t, twice(requests.created), "Jobs that were created twice")
	assert.Zero(t, seen.jobsTwice(), "runs with two Jobs")

	// A killed server or controller repeats its last requests, or does not log
	// them.
	cut := len(faults()) * workers
	// The same holds for the Job controller and a pod whose creation the killed
	// server did not answer. As Kubernetes documents, a Job may start its
	// program twice, and still has one outcome.
	assert.LessOrEqual(t, twice(requests.bound), cut, "Jobs with more than one pod")
	assert.InDelta(t, runs, requests.done("create jobs"), float64(cut), "one creation a run")
	assert.InDelta(t, runs, requests.done("patch jobs"), float64(cut), "one patch")
	assert.LessOrEqual(t, requests.sent("get jobs"), cut, "no read of a Job")
	statuses := requests.done("patch agentruns/status")
	assert.GreaterOrEqual(t, statuses, 3*runs-cut, "three status writes for a run that was faster than its watch")
	assert.LessOrEqual(t, statuses, 4*runs+cut, "four status writes for any other")
}

// size returns the number of runs and how long they may take.
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

// story returns the i-th run: a third succeed, a third succeed and release
// their Job as soon as its result is recorded, a third fail.
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

// createAll creates the runs. It keeps at most inFlight of them in flight and
// retries failed requests.
func createAll(ctx context.Context, stage *play.Stage, seen *ledger, runs int) error {
	const at = 8 // concurrent requests
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

// create retries until the run exists.
func create(ctx context.Context, stage *play.Stage, run *v1alpha1.AgentRun) error {
	for {
		_, err := stage.Runs.Create(ctx, run, metav1.CreateOptions{})
		switch {
		case err == nil || apierrors.IsAlreadyExists(err): // the answer of an earlier attempt was lost
			return nil
		case ctx.Err() != nil:
			return err
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// untrue returns the stored runs that did not end as their story says.
func untrue(ctx context.Context, t *testing.T, stage *play.Stage, runs int) (wrong []string) {
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

// killable is a process that faults kill.
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

// kill sends SIGKILL to the process of a fault and restarts it a few seconds
// later.
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
