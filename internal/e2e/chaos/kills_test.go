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
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/rig"
)

// inFlight is how many runs there are at once that have not ended.
const inFlight = 16

// TestTheControllerIsKilled: by SIGKILL, at random points of its work under load, and started again. A point is a time since the start,
// which may be before it is ready, or a request that is not done, is done and not answered, or was just answered.
func TestTheControllerIsKilled(t *testing.T) {
	t.Parallel()
	n, seed := cmp.Or(*kills, either(200, 10)), cmp.Or(*seed, rand.Uint64())
	t.Logf("%d points of seed %d", n, seed)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Duration(n)*10*time.Second)
	defer cancel()
	w := newWorld(t)
	w.grant(t, role)
	between, config := newProxy(t, w)
	loading, enough := context.WithCancel(ctx)
	finish := w.keepBusy(ctx, loading, t)
	defer enough()

	random, did := rand.New(rand.NewPCG(seed, 0)), map[string]int{}
	for range n {
		did[w.live(ctx, t, config, between, randomPoint(random))]++
	}
	w.start(t, config, "--hold-jobs")
	enough()
	runs := allEnded(ctx, t, w.Stage, finish())

	for i := range runs {
		w.assertTrue(t, &runs[i])
	}
	w.letGo(ctx, t)
	w.invariants(ctx, t)
	w.assertOnce(t, runs)
	for _, what := range slices.Sorted(maps.Keys(did)) {
		t.Logf("%4d killed %s", did[what], what)
	}
	t.Logf("%d runs", len(runs))
}

// point is when the controller is killed: on a request, or if the kind is empty at a time.
type point struct {
	trap

	time time.Duration
}

// kinds of requests at which the controller is killed, each as often as it stands here.
var kinds = []string{
	"patch agentruns/status", "patch agentruns/status", "patch agentruns/status", "create jobs", "create jobs", "patch jobs", "patch jobs",
	"delete jobs", "create events", "create events", "get secrets", "watch agentruns", "watch jobs",
}

func randomPoint(r *rand.Rand) point {
	if r.IntN(3) == 0 {
		return point{time: 1 + time.Duration(r.Int64N(int64(3*time.Second)))}
	}
	p := point{trap: trap{kind: kinds[r.IntN(len(kinds))], nth: 1 + r.IntN(4), at: []moment{unasked, unanswered, answered}[r.IntN(3)]}}
	p.after = time.Duration(r.Int64N(int64(5 * time.Millisecond)))
	if strings.HasPrefix(p.kind, "watch ") {
		p.nth, p.at = 1, answered
		p.after *= 20
	}
	return p
}

// live runs the controller from its start to the point at which it is killed, and returns what that was.
func (w *world) live(ctx context.Context, t *testing.T, config *rest.Config, between *proxy, at point) string {
	t.Helper()
	const patience = 5 * time.Second // for a request of the kind
	ctx, kill := context.WithTimeout(ctx, cmp.Or(at.time, 5*time.Minute))
	defer kill()
	if at.kind != "" {
		at.spring = kill
		between.set(&at.trap)
		defer between.set(nil)
	}
	dir, kubeconfig := place(t, config)
	w.starts = append(w.starts, time.Now())
	p, err := rig.Start(ctx, program, dir, kubeconfig, nil, "--namespaces="+w.Namespace, "--hold-jobs")
	if err != nil { // rig.Start has killed it
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

// keepBusy has runs end all the time, one after the other in each of some places, until loading is over. What it returns waits until the
// last have ended, and says how many there were.
func (w *world) keepBusy(ctx, loading context.Context, t *testing.T) (finish func() int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	var errs []error
	next := 0
	for range inFlight {
		all.Go(func() {
			for loading.Err() == nil {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if err := w.play(ctx, act(i)); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
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

// letGo waits until nothing is held, and checks that each Job that is left was released.
func (w *world) letGo(ctx context.Context, t *testing.T) {
	t.Helper()
	eventually(t, "no finalizer is left and all Jobs are released", func(ctx context.Context) bool {
		jobs, err := w.Kube.BatchV1().Jobs(w.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for _, job := range jobs.Items {
			if len(job.Finalizers) > 0 || job.Annotations["jobgc.controllerkit.dev/released"] == "" {
				return false
			}
		}
		return true
	})
	runs, err := w.Runs.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, run := range runs.Items {
		assert.Empty(t, run.Finalizers, "run %s", run.Name)
	}
}

// assertOnce checks that for each run that is not refused one Job was created, once, and that no Job had a second pod.
func (w *world) assertOnce(t *testing.T, runs []v1alpha1.AgentRun) {
	t.Helper()
	accepted := 0
	for _, run := range runs {
		if run.Labels["act"] != refused {
			accepted++
		}
	}
	created, pods := map[string]int{}, map[string]int{}
	for _, r := range requests(t, w.user) {
		if r.Verb == "create" && r.For.Resource == "jobs" && r.done() {
			created[r.For.Name]++
		}
	}
	for _, r := range requests(t, "system:node:controlplane") {
		if r.For.Subresource == "binding" && r.For.Namespace == w.Namespace && r.done() {
			pods[r.For.Name[:strings.LastIndex(r.For.Name, "-")]]++ // its Job's name and a suffix
		}
	}
	_, _, jobs := w.ledger.read() // for the log is wrong of a request whose sender is gone: what was created may stand there as an error
	assert.Len(t, jobs, accepted)
	assert.NotEmpty(t, pods)
	for what, names := range map[string]map[string]int{"created": created, "run": pods} {
		for name, times := range names {
			assert.Equal(t, 1, times, "Job %s was %s more than once", name, what)
		}
	}
}
