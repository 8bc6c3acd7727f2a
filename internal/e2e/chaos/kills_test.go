// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// inFlight is the number of runs that have not ended, at any time.
const inFlight = 16

// TestTheControllerIsKilled kills the controller with SIGKILL at random points
// of its work under load, and restarts it. A point is a time since the start,
// which may be before it is ready, or a request that is dropped, whose answer
// is dropped, or that was just answered.
//
//req:shows J3
func TestTheControllerIsKilled(t *testing.T) {
	t.Parallel()
	n, seed := cmp.Or(*kills, either(200, 10)), cmp.Or(*seed, rand.Uint64())
	t.Logf("%d points of seed %d", n, seed)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Duration(n)*10*time.Second)
	defer cancel()
	w := newWorld(t)
	w.grant(t)
	w.patience = 500 * time.Millisecond
	between := newProxy(t, w)
	loading, enough := context.WithCancel(ctx)
	defer enough()
	finish := keepBusy(t, inFlight, func(int) bool { return loading.Err() == nil }, func(i int) error {
		_, err := w.play(ctx, steps[i%quick], fmt.Sprintf("run-%05d", i))
		return err
	})

	random, did := rand.New(rand.NewPCG(seed, 0)), map[string]int{}
	for range n {
		did[w.live(ctx, t, between, randomPoint(random))]++
	}
	w.start(t, between.config, "--hold-jobs")
	enough()
	runs := suite.AllEnded(t, w.Stage, finish())
	w.idle(ctx, t) // the recorder's watch of Jobs may be behind

	for i := range runs {
		w.assertTrue(t, &runs[i])
	}
	w.letGo(t)
	w.invariants(ctx, t)
	w.assertOnce(t, runs)
	for _, what := range slices.Sorted(maps.Keys(did)) {
		t.Logf("%4d killed %s", did[what], what)
	}
	t.Logf("%d runs", len(runs))
}

// point is when the controller is killed: at a request, or at a time if kind is
// empty.
type point struct {
	fault

	time time.Duration
}

// kinds of requests at which the controller is killed. A kind that is listed
// twice is twice as likely.
var kinds = []string{
	"patch agentruns/status", "patch agentruns/status", "patch agentruns/status", "create jobs", "create jobs", "patch jobs", "patch jobs",
	"delete jobs", "create events", "create events", "get secrets", "watch agentruns", "watch jobs",
}

func randomPoint(r *rand.Rand) point {
	if r.IntN(3) == 0 {
		return point{time: 1 + time.Duration(r.Int64N(int64(3*time.Second)))}
	}
	p := point{fault: fault{kind: kinds[r.IntN(len(kinds))], nth: 1 + r.IntN(4), at: []moment{unasked, unanswered, answered}[r.IntN(3)]}}
	p.after = time.Duration(r.Int64N(int64(5 * time.Millisecond)))
	if strings.HasPrefix(p.kind, "watch ") {
		p.nth, p.at = 1, answered
		p.after *= 20
	}
	return p
}

// live runs the controller until it is killed at the point, and describes that.
func (w *world) live(ctx context.Context, t *testing.T, between *proxy, at point) string {
	t.Helper()
	const patience = 5 * time.Second // for a request of the kind
	ctx, kill := context.WithTimeout(ctx, cmp.Or(at.time, 5*time.Minute))
	defer kill()
	if at.kind != "" {
		at.spring = kill
		between.set(&at.fault)
		defer between.set(nil)
	}
	w.starts = append(w.starts, time.Now())
	p, err := plane.Run(ctx, t, w.Stage, suite.Controller{User: between.config, Args: []string{"--hold-jobs"}})
	if err != nil { // rig.Start has killed the process
		require.Error(t, ctx.Err(), "%v", err)
		if at.kind == "" {
			return "at a time, before it was ready"
		}
		return "at " + at.kind + ", before it was ready"
	}
	select {
	case <-ctx.Done():
	case <-time.After(patience):
	}
	came := ctx.Err() != nil
	require.NoError(t, p.Kill())
	switch {
	case at.kind == "":
		return "at a time"
	case came:
		return "at " + at.kind + ", " + string(at.at)
	}
	return fmt.Sprintf("after %s without the request that was waited for", patience)
}

// keepBusy plays runs in a number of goroutines, one after the other in each,
// as long as there are more. The returned function waits for the last ones and
// returns the number of runs.
func keepBusy(t *testing.T, atOnce int, more func(i int) bool, play func(i int) error) (finish func() int) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	next := 0
	take := func() (i int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if !more(next) {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range atOnce {
		all.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := play(i); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
					return
				}
			}
		})
	}
	return func() int {
		all.Wait()
		require.Empty(t, errs)
		return next
	}
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

// assertOnce checks that each run that was not refused has exactly one Job, and
// that no Job had a second pod.
func (w *world) assertOnce(t *testing.T, runs []v1alpha1.AgentRun) {
	t.Helper()
	accepted := 0
	for _, run := range runs {
		if run.Labels["step"] != refused {
			accepted++
		}
	}
	created, pods := plane.Jobs(t, w.Namespace)
	_, _, withJob := w.recorder.Count() // the audit log may have an error for a creation that succeeded after its sender was gone
	assert.Equal(t, accepted, withJob)
	assert.NotEmpty(t, pods)
	for what, names := range map[string]map[string]int{"created": created, "run": pods} {
		for name, times := range names {
			assert.Equal(t, 1, times, "Job %s was %s more than once", name, what)
		}
	}
}
