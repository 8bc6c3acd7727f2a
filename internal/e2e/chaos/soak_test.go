// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// strike is a fault at the moment when a part of the runs has ended.
type strike struct {
	percent int
	server  bool // or the controller
}

// TestSoak plays many runs while the API server and the controller are killed
// and restarted, each after a part of the runs has ended. It compares each
// outcome with the true one, and the controller's requests with the number of
// runs. Suite sieve of internal/bench kills a controller before and after each
// of its writes, in virtual time.
//
//req:shows J3 J4
func TestSoak(t *testing.T) {
	const workers = 8
	n := cmp.Or(*count, either(400, 40))
	strikes := []strike{{10, true}, {25, false}, {45, true}, {60, false}, {75, true}}
	if *count == 0 && !*full { // clients wait up to a minute after repeated failures of a server
		strikes = []strike{{25, true}, {60, false}}
	}
	limit := 5*time.Minute + time.Duration(n)*300*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	var playing sync.WaitGroup
	defer playing.Wait()
	defer cancel()
	w := newWorld(t)
	w.grant(t)
	w.start(t, w.config, "--hold-jobs", fmt.Sprint("--workers=", workers))
	began := time.Now()
	playing.Go(func() {
		// At most so many runs are in flight. The control plane of one machine
		// can handle them, and every fault hits some of them.
		workqueue.ParallelizeUntil(ctx, min(400, n/6), n, func(i int) { assert.NoError(t, w.playOne(ctx, i)) })
	})
	for _, s := range strikes {
		w.untilEnded(ctx, t, n, s.percent, began)
		w.hit(ctx, t, s)
	}
	playing.Wait()
	took := time.Since(began)
	w.letGo(t)
	w.holds(ctx, t, n)

	// A killed server or controller repeats its last requests, or does not log
	// them.
	cut := len(strikes) * workers
	twice := w.assertOneJobEach(t, cut)
	sent, done := w.requestsByKind(t)
	t.Logf("%d runs in %s (%.1f/s) with %d faults; %d Jobs had more than one pod; requests of the controller: %v, and done: %v",
		n, took.Round(time.Second), float64(n)/took.Seconds(), len(strikes), twice, sent, done)
	assert.InDelta(t, n, done["create jobs"], float64(cut), "one creation a run")
	assert.InDelta(t, n, done["patch jobs"], float64(cut), "one patch")
	// After a restart, the cache lacks the Jobs that their TTL has deleted.
	assert.LessOrEqual(t, sent["get jobs"], sent["create jobs"]-n+cut+n, "a Job is read if its creation finds it, or once after a restart")
	assert.GreaterOrEqual(t, done["patch agentruns/status"], n-cut, "one status write for a run that was faster than its watch")
	assert.LessOrEqual(t, done["patch agentruns/status"], 3*n+cut, "two for any other, and three if its Job started late")
}

// playOne plays one run of the load, whose Job stays for a minute if it does
// not say otherwise.
func (w *world) playOne(ctx context.Context, i int) error {
	run := newRun(i)
	if run.Spec.JobTTLSecondsAfterFinished == nil {
		run.Spec.JobTTLSecondsAfterFinished = new(int32(60))
	}
	run, err := suite.Create(ctx, w.Stage, run)
	if err != nil {
		return err
	}
	return w.ended(ctx, run)
}

// untilEnded waits until a part of the n runs that began to be played at a time
// has ended.
func (w *world) untilEnded(ctx context.Context, t *testing.T, n, percent int, began time.Time) {
	t.Helper()
	for {
		runs, ended, _ := w.recorder.Count()
		if ended*100 >= n*percent {
			took := time.Since(began).Round(time.Second)
			t.Logf("%s: %d of %d runs have ended, %d are in flight", took, ended, n, runs-ended)
			return
		}
		require.NoError(t, ctx.Err(), "%d of %d runs have ended after %s", ended, n, time.Since(began))
		suite.Wait(ctx, 100*time.Millisecond)
	}
}

// hit kills the API server or the controller, and starts it again after a
// pause.
func (w *world) hit(ctx context.Context, t *testing.T, s strike) {
	t.Helper()
	if s.server {
		breakServer(ctx, t, plane.APIServer, 3*time.Second)
		return
	}
	require.NoError(t, w.process.Kill())
	suite.Wait(ctx, 3*time.Second)
	w.starts = append(w.starts, time.Now())
	w.start(t, w.config, w.args...)
}

// assertOneJobEach checks that each Job was created once. It returns how many
// Jobs had more than one pod, which is at most cut. The Job controller may
// repeat the creation of a pod that the killed server did not answer. As
// Kubernetes documents, a Job may start its program twice, and still has one
// outcome.
func (w *world) assertOneJobEach(t *testing.T, cut int) (twice int) {
	t.Helper()
	created, pods := plane.Jobs(t, w.Namespace)
	for job, times := range created {
		assert.Equal(t, 1, times, "Job %s was created more than once", job)
	}
	for _, times := range pods {
		if times > 1 {
			twice++
		}
	}
	assert.LessOrEqual(t, twice, cut, "Jobs with more than one pod")
	return twice
}

// requestsByKind counts the controller's requests, and those that were done.
func (w *world) requestsByKind(t *testing.T) (sent, done map[string]int) {
	t.Helper()
	sent, done = map[string]int{}, map[string]int{}
	for _, r := range w.requests(t) {
		sent[r.Kind()]++
		if r.Done() {
			done[r.Kind()]++
		}
	}
	return sent, done
}

// letGo waits until no Job is held, and checks that each remaining Job was
// released.
func (w *world) letGo(t *testing.T) {
	t.Helper()
	suite.Eventually(t, "no Job is held and all are released", func(ctx context.Context) bool {
		jobs, err := w.Kube.BatchV1().Jobs(w.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for _, job := range jobs.Items {
			// A killed API server may delay Kubernetes' own foregroundDeletion.
			if slices.Contains(job.Finalizers, controller.HoldFinalizer) || job.Annotations["jobgc.controllerkit.dev/released"] == "" {
				return false
			}
		}
		return true
	})
	runs, err := w.Runs.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, run := range runs.Items {
		assert.Empty(t, run.Finalizers, "run %s", run.Name)
	}
}
