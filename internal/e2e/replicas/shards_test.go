// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestShards_EveryRunEndsOnce: one replica has a namespace, and two share
// another namespace by a label. Under load a fourth replica is added, and runs
// in flight are moved to it by their label, as an external sharder does.
//
//req:shows J3
func TestShards_EveryRunEndsOnce(t *testing.T) {
	const each = 40
	byNamespace, byLabel := newStage(t, "by-namespace"), newStage(t, "by-label")
	replicas := []*replica{
		start(t, byNamespace, "whole"),
		start(t, byLabel, "red", "--selector=shard=red"),
		start(t, byLabel, "rest", "--selector=shard notin (red,green)"),
	}
	var loading sync.WaitGroup
	defer loading.Wait()
	loading.Go(func() { load(t, byNamespace, "whole", each, nil, "") })
	loading.Go(func() { load(t, byLabel, "red", each, map[string]string{"shard": "red"}, "") })
	loading.Go(func() { load(t, byLabel, "rest", each, nil, "green") })
	suite.Eventually(t, "red runs have ended", func(ctx context.Context) bool {
		n, err := replicas[1].Value(ctx, "controller_runs_total", nil)
		return err == nil && n >= 3
	})
	replicas = append(replicas, start(t, byLabel, "green", "--selector=shard=green"))
	loading.Wait()

	ends := map[string]int{}
	for stage, n := range map[*play.Stage]int{byNamespace: each, byLabel: 2 * each} {
		for _, user := range assertOnce(t, stage, suite.AllEnded(t, stage, n)) {
			ends[user]++
		}
	}
	t.Logf("ends by replica: %v", ends)
	for _, r := range replicas {
		assert.NotZero(t, ends[r.user], "%s had nothing to do", r.user)
	}
}

// load creates the runs of a series. It moves every other one to a shard, if
// there is one, at a moment between its creation and its end. Their Jobs stay
// for a minute, as package jobgc asks of runs that two replicas may have.
func load(t *testing.T, stage *play.Stage, series string, n int, labels map[string]string, moveTo string) {
	t.Helper()
	var moving sync.WaitGroup
	defer moving.Wait()
	for i := range n {
		run := play.NewLoad(series, i)
		run.Labels = labels
		run.Spec.JobTTLSecondsAfterFinished = new(int32(60))
		create(t, stage, run)
		if moveTo != "" && i%2 == 1 {
			moving.Go(func() {
				suite.Wait(t.Context(), time.Duration(i%10-1)*50*time.Millisecond)
				body := fmt.Appendf(nil, `{"metadata":{"labels":{"shard":%q}}}`, moveTo)
				suite.Eventually(t, run.Name+" is moved", func(ctx context.Context) bool {
					_, err := stage.Runs.Patch(ctx, run.Name, types.MergePatchType, body, metav1.PatchOptions{})
					return err == nil // a slow server may not answer in time
				})
			})
		}
		suite.Wait(t.Context(), 100*time.Millisecond)
	}
}
