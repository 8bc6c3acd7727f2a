// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestTakeover: one leader is stopped, one is killed, and one is frozen for
// longer than its lease. Each time the standby goes on. No leader that is gone
// has a write after the first one of the next, and each run runs once. The
// frozen one ends by itself when it goes on.
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
		return start(t, stage, fmt.Sprintf("replica-%d", started), "--leader-elect")
	}
	leader := startNext()
	suite.Eventually(t, "the first replica leads", leader.leads)
	for how, end := range map[string]func(*replica) error{
		"stopped": func(r *replica) error { return r.Stop() },
		"killed":  func(r *replica) error { return r.Kill() },
		"frozen": func(r *replica) error {
			t.Cleanup(func() { _ = syscall.Kill(r.PID(), syscall.SIGCONT) }) // so that it can be stopped
			return syscall.Kill(r.PID(), syscall.SIGSTOP)
		},
	} {
		standby := startNext()
		n, err := standby.Value(ctx, "controller_leader", nil)
		require.NoError(t, err)
		assert.Zero(t, n, "a replica waits")
		_, err = standby.Value(ctx, "controller_run_active", nil)
		require.ErrorContains(t, err, "no controller_run_active", "a replica that waits counts no runs")
		suite.Eventually(t, "the leader has written", func(context.Context) bool { return len(leader.work(t)) > 0 })
		err = end(leader)
		if err != nil { // a very slow machine
			t.Logf("%s had lost its lease before: %v", leader.user, err)
		}
		var writes []controlplane.Request
		suite.Eventually(t, "the standby has written", func(context.Context) bool {
			writes = standby.work(t)
			return len(writes) > 0
		})
		last := leader.work(t)
		first := writes[0].At.Time
		assert.True(t, first.After(last[len(last)-1].At.Time), "%s: the standby wrote at %s, before the last write of the leader", how, first)
		if how == "frozen" {
			_ = syscall.Kill(leader.PID(), syscall.SIGCONT)
			require.EqualError(t, leader.Wait(ctx), "exit status 1")
		}
		leader = standby
	}
	enough()
	load.Wait()
	suite.Eventually(t, "all runs have ended", func(ctx context.Context) bool {
		_, gone := leader.Metrics(ctx)
		if gone != nil { // a very slow machine: it has lost its lease
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
	all := plane.Requests(t, func(q controlplane.Request) bool {
		ours := q.User.Username == r.user && q.Writes()
		return ours && q.For.Resource != "leases" && q.For.Resource != "events"
	})
	slices.SortFunc(all, func(a, b controlplane.Request) int { return a.At.Compare(b.At.Time) })
	return all
}
