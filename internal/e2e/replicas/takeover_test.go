// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestTakeover: a leader is stopped, and the next one is killed. Each time its
// standby goes on. No leader has a write after the first one of the next, and
// each run runs once. How long a takeover takes is shown by
// TestTakeover_IsBounded of the example, in virtual time.
//
//req:shows J3
func TestTakeover(t *testing.T) {
	ctx := t.Context()
	stage, created := newStage(t), 0
	loading, enough := context.WithCancel(ctx)
	var load sync.WaitGroup
	defer load.Wait()
	defer enough()
	load.Go(func() { // there is always something to write
		for ; loading.Err() == nil; created++ {
			create(t, stage, play.NewLoad("run", created))
			suite.Wait(loading, 250*time.Millisecond)
		}
	})
	started := 0
	startNext := func() *replica {
		started++
		return start(t, stage, fmt.Sprintf("replica-%d", started), elected("agentrun")...)
	}
	leader := startNext()
	suite.Eventually(t, "the first replica leads", leader.leads)
	for how, end := range map[string]func(*replica) error{
		"stopped": func(r *replica) error { return r.Stop() },
		"killed":  func(r *replica) error { return r.Kill() },
	} {
		standby := startNext()
		for _, family := range []string{"controller_leader", "controller_queue_adds_total", "controller_run_active"} {
			n, err := standby.Value(ctx, family, nil)
			require.NoError(t, err)
			assert.Zero(t, n, "%s of a replica that waits", family)
		}
		err := end(leader)
		if err != nil { // a very slow machine
			t.Logf("%s had lost its lease before: %v", leader.user, err)
		}
		var writes []controlplane.Request
		suite.Eventually(t, "the standby has written", func(context.Context) bool {
			writes = standby.work(t)
			return len(writes) > 0
		})
		last := leader.work(t)
		require.NotEmpty(t, last, "the leader worked")
		first := writes[0].At.Time
		assert.True(t, first.After(last[len(last)-1].At.Time), "%s: the standby wrote at %s, before the last write of the leader", how, first)
		leader = standby
	}
	enough()
	load.Wait()
	suite.Eventually(t, "all runs have ended", func(ctx context.Context) bool {
		if !leader.alive(ctx) { // a very slow machine: it has lost its lease
			leader = startNext()
		}
		list, err := stage.Runs.List(ctx, metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(list.Items, func(run v1alpha1.AgentRun) bool { return !suite.Ended(&run) })
	})
	assertOnce(t, stage, suite.AllEnded(t, stage, created))
}

// work returns what a replica wrote about runs and Jobs, by the time at which
// the API server received it. A leader that stops writes its queued Events
// after the release.
func (r *replica) work(t *testing.T) []controlplane.Request {
	t.Helper()
	all := slices.DeleteFunc(r.requests(t), func(q controlplane.Request) bool {
		return !q.Writes() || q.For.Resource == "leases" || q.For.Resource == "events"
	})
	slices.SortFunc(all, func(a, b controlplane.Request) int { return a.At.Compare(b.At.Time) })
	return all
}

// TestALostLeaseEndsTheProcess: a leader that loses its lease to another holder
// stops and exits, so that it restarts.
func TestALostLeaseEndsTheProcess(t *testing.T) {
	stage := newStage(t)
	only := start(t, stage, "only", elected("agentrun")...)
	suite.Eventually(t, "it leads", only.leads)
	body, err := json.Marshal(map[string]any{"spec": map[string]any{
		"holderIdentity": "other-process", "renewTime": metav1.NowMicro(), "leaseDurationSeconds": 60,
	}})
	require.NoError(t, err)
	leases := stage.Kube.CoordinationV1().Leases(stage.Namespace)
	_, err = leases.Patch(t.Context(), "agentrun", types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(t, err)
	require.EqualError(t, only.Wait(t.Context()), "exit status 1")
	log, err := os.ReadFile(only.Log)
	require.NoError(t, err)
	assert.Contains(t, string(log), "agentrun: leader election: the lease "+stage.Namespace+"/agentrun was not renewed in time")
	kept, err := leases.Get(t.Context(), "agentrun", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "other-process", *kept.Spec.HolderIdentity, "The other holder keeps its lease.")
}
