// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestSIGTERMDuringABurstOfFailures: runs fail faster than their Events can be
// written, and continue to fail while the controller stops. It ends in time and
// with 0, and each run that it recorded as failed has its Event. It does not
// run in parallel, because it has only the time of a pod.
func TestSIGTERMDuringABurstOfFailures(t *testing.T) {
	const enough = 180 // the recorder writes 100 immediately, then 20 a second
	stage := plane.NewStage(t)
	p := plane.Start(t, stage, suite.Controller{Args: []string{"--workers=16"}})
	creating := startBurst(t, stage)
	suite.Eventually(t, "the burst is on", func(ctx context.Context) bool { return len(failed(ctx, t, stage)) >= enough })
	told := len(eventsByRun(t, stage))
	began := time.Now()
	require.NoError(t, p.Stop(), "it ends with 0, within the 30 seconds of a pod")
	took := time.Since(began)
	creating.Wait()

	runs, byRun := failed(t.Context(), t, stage), eventsByRun(t, stage)
	t.Logf("%d Events of %d failed runs were written before SIGTERM, %d of %d in the end, %s later", told, enough, len(byRun), len(runs), took)
	assert.Less(t, told, len(runs), "something had yet to be written")
	for _, run := range runs {
		assert.Equal(t, 1, byRun[run], "run %s", run)
	}
	assert.Len(t, byRun, len(runs), "A run that is not recorded as failed has no Event.")
	assert.Empty(t, lost(t, p), "nothing was lost")
}

// TestSIGTERMWhileTheAPIServerHangs: the controller counts the Events that it
// cannot write, names them when it ends, and ends in time. It does not run in
// parallel, because the other tests need that server.
func TestSIGTERMWhileTheAPIServerHangs(t *testing.T) {
	stage := plane.NewStage(t)
	startBurst(t, stage).Wait()
	p := plane.Start(t, stage, suite.Controller{Args: []string{"--workers=16"}})
	suite.Eventually(t, "the burst is on", func(ctx context.Context) bool { return len(failed(ctx, t, stage)) >= 200 })
	require.NoError(t, plane.APIServer.Freeze())
	stopped := p.Stop()
	require.NoError(t, plane.APIServer.Thaw())
	require.NoError(t, plane.Ready(t.Context()))
	require.ErrorContains(t, stopped, "exit status 1", "it ends without a kill, within the 30 seconds of a pod")

	runs, byRun := failed(t.Context(), t, stage), eventsByRun(t, stage)
	missing := 0
	for _, run := range runs {
		if byRun[run] == 0 {
			missing++
		}
	}
	t.Logf("%d of %d failed runs have no Event; the log reports %v", missing, len(runs), lost(t, p))
	assert.NotZero(t, missing, "the server did hang")
	// The workers' writes hung too. The next controller reports a status that
	// was stored without an answer.
	const workers = 16
	assert.GreaterOrEqual(t, lost(t, p)["Shutdown"]+workers, missing, "each is counted, although an Event whose answer was lost may be stored")
}

// startBurst creates 300 runs that are refused. The returned group is done when
// the last one is created.
func startBurst(t *testing.T, stage *play.Stage) *sync.WaitGroup {
	t.Helper()
	ctx := t.Context()
	creating := new(sync.WaitGroup)
	creating.Go(func() {
		workqueue.ParallelizeUntil(ctx, 4, 300, func(i int) {
			run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("refused-%04d", i)}}
			run.Spec = v1alpha1.AgentRunSpec{Image: "busybox:1.37", Parameters: map[string]string{"prompt": "hello"}}
			_, err := stage.Runs.Create(ctx, run, metav1.CreateOptions{})
			assert.NoError(t, err)
		})
	})
	t.Cleanup(creating.Wait)
	return creating
}

// failed returns the names of the runs that are recorded as failed.
func failed(ctx context.Context, t *testing.T, stage *play.Stage) (names []string) {
	t.Helper()
	list, err := stage.Runs.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, run := range list.Items {
		if run.Status.Phase == v1alpha1.Failed {
			names = append(names, run.Name)
		}
	}
	return names
}

// eventsByRun counts the Events of the refusals.
func eventsByRun(t *testing.T, stage *play.Stage) map[string]int {
	t.Helper()
	list, err := stage.Kube.CoreV1().Events(stage.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=InvalidSpec"})
	require.NoError(t, err)
	byRun := map[string]int{}
	for _, ev := range list.Items {
		byRun[ev.InvolvedObject.Name]++
	}
	return byRun
}

// lost returns the lost Events in the controller's log, by cause.
func lost(t *testing.T, p *rig.Process) map[string]int {
	t.Helper()
	by := map[string]int{}
	for _, l := range logged(t, p, "Dropped events") {
		by[l.Cause] += l.Count
	}
	return by
}
