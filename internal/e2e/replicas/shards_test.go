// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestShards_EveryRunEndsOnce: one replica has a namespace, and two share
// another namespace by a label. Under load one of these is killed, and its
// standby takes its lease. A fourth replica is added, and runs in flight are
// moved to it by their label, as an external sharder does. Tests of the example
// show which replica reports an end.
//
//req:shows J3
func TestShards_EveryRunEndsOnce(t *testing.T) {
	const each = 40
	ctx := t.Context()
	byNamespace, byLabel := newStage(t, "by-namespace"), newStage(t, "by-label")
	red := append(elected("agentrun-red"), "--selector=shard=red")
	whole, victim, rest := start(t, byNamespace, "whole"), start(t, byLabel, "red", red...), start(t, byLabel, "rest", "--selector=shard notin (red,green)")
	suite.Eventually(t, "the replica of the red shard leads", func(ctx context.Context) bool { return victim.leads(ctx) })
	standby := start(t, byLabel, "red-standby", red...)

	var loading sync.WaitGroup
	defer loading.Wait()
	loading.Go(func() { load(t, byNamespace, "whole", each, nil) })
	loading.Go(func() { load(t, byLabel, "red", each, map[string]string{"shard": "red"}) })
	loading.Go(func() { loadAndMove(t, byLabel, "rest", each, "green") })
	suite.Eventually(t, "red runs have ended", func(ctx context.Context) bool {
		return victim.count(ctx, "controller_runs_total", nil) >= 3 || !victim.alive(ctx)
	})
	before := victim.count(ctx, "controller_runs_total", nil)
	require.NoError(t, victim.Kill())
	reds := []*replica{victim, standby, start(t, byLabel, "red-replacement", red...)} // as a Deployment starts one
	alive := func(r *replica) bool { return r.alive(ctx) }
	green := start(t, byLabel, "green", "--selector=shard=green")
	loading.Wait()

	// Each run ended once.
	runs := suite.AllEnded(t, byNamespace, each)
	endedBy := assertOnce(t, byNamespace, runs)
	suite.Eventually(t, "the red runs have ended", func(ctx context.Context) bool {
		if !slices.ContainsFunc(reds, alive) { // a very slow machine: they have lost their lease
			reds = append(reds, start(t, byLabel, fmt.Sprintf("red-%d", len(reds)), red...))
		}
		list, err := byLabel.Runs.List(ctx, metav1.ListOptions{LabelSelector: "shard=red"})
		return err == nil && !slices.ContainsFunc(list.Items, func(run v1alpha1.AgentRun) bool { return !suite.Ended(&run) })
	})
	labelled := suite.AllEnded(t, byLabel, 2*each)
	maps.Copy(endedBy, assertOnce(t, byLabel, labelled))
	runs = append(runs, labelled...)
	ends := map[string]int{}
	for _, run := range runs {
		ends[endedBy[run.Name]]++
	}
	t.Logf("ends of %d runs by replica, without an answer by none: %v", len(runs), ends)
	for _, r := range []*replica{whole, rest, green} {
		assert.NotZero(t, ends[r.user], "%s had nothing to do", r.user)
	}
	assert.Less(t, ends[victim.user], each, "it was killed under load")
	assert.LessOrEqual(t, before, ends[victim.user]+ends[""], "it had counted what it had recorded")

	// Each replica counts the ends that it recorded, so the sum over all is the
	// number of runs. Counts of a process that is gone are gone, and of a request
	// that was not answered the audit log does not tell who knows of it.
	for _, r := range append(reds, whole, rest, green) {
		if !r.alive(ctx) || r.unanswered(t) {
			continue
		}
		suite.Eventually(t, fmt.Sprintf("%s has counted its %d runs", r.user, ends[r.user]), func(ctx context.Context) bool {
			return r.count(ctx, "controller_runs_total", nil) == ends[r.user]
		})
	}
}

// pace is the time between two runs of a series.
const pace = 100 * time.Millisecond

// load creates the runs of a series.
func load(t *testing.T, stage *play.Stage, series string, n int, labels map[string]string) {
	t.Helper()
	for i := range n {
		run := play.NewLoad(series, i)
		run.Labels = labels
		create(t, stage, run)
		suite.Wait(t.Context(), pace)
	}
}

// loadAndMove creates the runs of a series and moves every other one to a
// shard, at a moment between its creation and its end. Their Jobs stay for a
// minute, as package jobgc asks of runs that two replicas may have.
func loadAndMove(t *testing.T, stage *play.Stage, series string, n int, shard string) {
	t.Helper()
	var moving sync.WaitGroup
	defer moving.Wait()
	for i := range n {
		run := play.NewLoad(series, i)
		run.Spec.JobTTLSecondsAfterFinished = new(int32(60))
		create(t, stage, run)
		if i%2 == 1 {
			moving.Go(func() {
				suite.Wait(t.Context(), time.Duration(i%10-1)*50*time.Millisecond)
				body := fmt.Appendf(nil, `{"metadata":{"labels":{"shard":%q}}}`, shard)
				suite.Eventually(t, run.Name+" is moved", func(ctx context.Context) bool {
					_, err := stage.Runs.Patch(ctx, run.Name, types.MergePatchType, body, metav1.PatchOptions{})
					return err == nil // a slow server may not answer in time
				})
			})
		}
		suite.Wait(t.Context(), pace)
	}
}
