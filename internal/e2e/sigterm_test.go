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
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestSIGTERMDuringABurstOfFailures: runs fail faster than their Events can be
// written, and continue to fail while the controller stops. It ends in time and
// with 0, and each run that it recorded as failed has its Event. It does not
// run in parallel, because it has only the time of a pod.
func TestSIGTERMDuringABurstOfFailures(t *testing.T) {
	const enough = 180 // the recorder writes 100 immediately, then 20 a second
	stage := plane.NewStage(t)
	p := plane.Start(t, stage, suite.Controller{})
	var creating sync.WaitGroup
	creating.Go(func() {
		workqueue.ParallelizeUntil(t.Context(), 4, 300, func(i int) {
			run := play.NewRun(fmt.Sprintf("refused-%04d", i))
			run.Spec.Parameters = map[string]string{"prompt": "hello"}
			_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
			assert.NoError(t, err)
		})
	})
	suite.Eventually(t, "the burst is on", func(ctx context.Context) bool { return len(failed(ctx, t, stage)) >= enough })
	before := len(eventsByRun(t, stage))
	began := time.Now()
	require.NoError(t, p.Stop(), "it ends with 0, within the 30 seconds of a pod")
	took := time.Since(began)
	creating.Wait()

	runs, byRun := failed(t.Context(), t, stage), eventsByRun(t, stage)
	t.Logf("%d Events of %d failed runs were written before SIGTERM, %d of %d in the end, %s later", before, enough, len(byRun), len(runs), took)
	assert.Less(t, before, len(runs), "something had yet to be written")
	for _, run := range runs {
		assert.Equal(t, 1, byRun[run], "run %s", run)
	}
	assert.Len(t, byRun, len(runs), "A run that is not recorded as failed has no Event.")
	assert.Empty(t, logged(t, p, line{Msg: "Dropped events"}), "nothing was lost")
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
