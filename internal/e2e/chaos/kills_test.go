// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestRunsUnderKills plays many runs while the API server and the controller are killed
// in turn and restarted, each after a part of the runs has ended. It compares
// each outcome with the true one, and the controller's requests with the number
// of runs. Suite sieve of internal/bench kills a controller before and after
// each of its writes, in virtual time.
//
//req:shows J3 J4
func TestRunsUnderKills(t *testing.T) {
	const workers = 50 // of the example
	n := cmp.Or(*count, either(400, 40))
	strikes := []int{10, 25, 45, 60, 75} // when so many percent have ended
	if *tableFile == "" {                // clients wait up to a minute after repeated failures of a server
		strikes = []int{25, 60}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute+time.Duration(n)*300*time.Millisecond)
	var playing sync.WaitGroup
	defer playing.Wait()
	defer cancel()
	w := newWorld(t)
	w.reason = "API server and controller are killed in turn."
	w.start(t, w.config)
	w.before = w.read(t)
	began := time.Now()
	playing.Go(func() {
		// At most so many runs are in flight. The control plane of one machine
		// can handle them, and every fault hits some of them.
		workqueue.ParallelizeUntil(ctx, min(400, n/6), n, func(i int) { assert.NoError(t, w.playOne(ctx, i)) })
	})
	for i, percent := range strikes {
		for w.recorder.Ended()*100 < n*percent {
			require.NoError(t, ctx.Err(), "%d of %d runs have ended", w.recorder.Ended(), n)
			suite.Wait(ctx, 100*time.Millisecond)
		}
		w.strike(ctx, t, i%2 == 0)
	}
	playing.Wait()
	took := time.Since(began)
	w.released(t)
	w.holds(ctx, t, n)
	t.Logf("%d runs in %s (%.1f/s) with %d faults", n, took.Round(time.Second), float64(n)/took.Seconds(), len(strikes))
	w.assertRequests(t, n, len(strikes)*workers)
}

// playOne plays one run of the load, whose Job stays for a minute if it does
// not say otherwise.
func (w *world) playOne(ctx context.Context, i int) error {
	run := newRun(i)
	if run.Spec.JobTTLSecondsAfterFinished == nil {
		run.Spec.JobTTLSecondsAfterFinished = new(int32(60))
	}
	run, err := suite.Create(ctx, w.Stage, run)
	for err == nil && w.recorder.Outcome(run.UID) == "" {
		suite.Wait(ctx, 20*time.Millisecond)
		err = ctx.Err()
	}
	return err
}

// strike kills the API server or the controller, and starts it again after a
// pause.
func (w *world) strike(ctx context.Context, t *testing.T, server bool) {
	t.Helper()
	if server {
		breakServer(ctx, t, plane.APIServer, 3*time.Second)
		return
	}
	w.wasKilled = true
	require.NoError(t, w.process.Kill())
	suite.Wait(ctx, 3*time.Second)
	w.start(t, w.config, w.args...)
}

// assertRequests compares the requests with the number of runs. A killed server
// or controller repeats its last requests, or does not log them, which cut
// bounds. The Job controller may repeat the creation of a pod that the killed
// server did not answer. As Kubernetes documents, a Job may start its program
// twice, and still has one outcome.
func (w *world) assertRequests(t *testing.T, n, cut int) {
	t.Helper()
	created, pods := plane.Jobs(t, w.Namespace)
	for job, times := range created {
		assert.Equal(t, 1, times, "Job %s was created more than once", job)
	}
	twice := 0
	for _, times := range pods {
		if times > 1 {
			twice++
		}
	}
	done := map[string]int{}
	for _, r := range w.requests(t) {
		if r.Done() || r.Verb == "get" {
			done[r.Kind()]++
		}
	}
	t.Logf("%d Jobs had more than one pod; requests of the controller: %v", twice, done)
	assert.LessOrEqual(t, twice, cut, "Jobs with more than one pod")
	assert.InDelta(t, n, done["create jobs"], float64(cut), "one creation a run")
	assert.InDelta(t, n, done["patch jobs"], float64(cut), "one patch")
	assert.LessOrEqual(t, done["get jobs"], n+2*cut, "a Job is read if its creation finds it, or if the cache lacks it for long")
	assert.GreaterOrEqual(t, done["patch agentruns/status"], n-cut, "one status write for a run that was faster than its watch")
	assert.LessOrEqual(t, done["patch agentruns/status"], 3*n+cut, "two for any other, and three if its Job started late")
}

// released waits until all Jobs that remain have the TTL of their run.
func (w *world) released(t *testing.T) {
	t.Helper()
	suite.Eventually(t, "all Jobs are released", func(ctx context.Context) bool {
		jobs, err := w.Kube.BatchV1().Jobs(w.Namespace).List(ctx, metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(jobs.Items, func(job batchv1.Job) bool {
			return job.Spec.TTLSecondsAfterFinished == nil
		})
	})
}
