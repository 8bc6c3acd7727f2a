// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// tries of a handover. A busy machine only adds to the time that it takes, so
// one try within the bound shows that the bound can be kept. The slowest phase
// and jitter are shown by TestTakeover_IsBounded of the example, in virtual
// time, which does not depend on the machine.
const tries = 3

// steps are the requests that a standby sends one after the other until its
// first write, and more. The bound is extended by as many times the slowest
// request of the test itself during the handover, which takes milliseconds
// unless the machine is too slow to measure anything.
const steps = 10

// TestTakeover measures, by the clock of the API server, how long a standby
// takes from the release of the lease, or from the kill of its holder, to its
// first write. In any case a leader has no write after its release, the next
// leader has none before, and each run runs once.
//
//req:shows J3
func TestTakeover(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	stage, created := newStage(t, "takeover"), 0
	loading, enough := context.WithCancel(ctx)
	var load sync.WaitGroup
	defer load.Wait()
	defer enough()
	load.Go(func() { // there is always something to write
		for ; loading.Err() == nil; created++ {
			create(ctx, t, stage, newRun("run", created, nil))
			wait(loading, 250*time.Millisecond)
		}
	})
	started := 0
	startNext := func() *replica {
		started++
		return start(t, stage, fmt.Sprintf("replica-%d", started), elected("agentrun")...)
	}
	leader := startNext()
	eventually(ctx, t, "the first replica leads", func() bool { return leader.leads(ctx) })

	for _, tc := range []struct {
		reason string
		bound  time.Duration
		end    func(*replica) time.Time // ends the leader and returns since when no replica leads
	}{
		{
			"A leader that stops releases its lease, and its standby asks for it every 1.1 seconds or sooner.", 2 * time.Second,
			func(r *replica) time.Time {
				if err := r.Stop(); err != nil { // a very slow machine: another try
					t.Logf("%s had lost its lease before: %v", r.user, err)
					return time.Time{}
				}
				return leaseWritten(t, stage.Namespace, r)
			},
		},
		{
			"A killed leader keeps its lease until that expires.", lease + 3*time.Second,
			func(r *replica) time.Time {
				at := time.Now()
				require.NoError(t, r.Kill())
				return at
			},
		},
	} {
		kept := false
		for range tries {
			standby := startNext()
			var first time.Time
			var slowest time.Duration
			since := tc.end(leader)
			eventually(ctx, t, "the standby has written", func() bool {
				asked := time.Now()
				_, _ = stage.Kube.CoordinationV1().Leases(stage.Namespace).Get(ctx, "agentrun", metav1.GetOptions{})
				slowest = max(slowest, time.Since(asked))
				writes := work(t, stage.Namespace, standby)
				if len(writes) > 0 {
					first = writes[0].At.Time
				}
				return len(writes) > 0
			})
			last := work(t, stage.Namespace, leader)
			assert.NotEmpty(t, last, "the leader worked")
			assert.True(t, first.After(last[len(last)-1].At.Time), "the standby wrote at %s, before the leader's last write at %s", first, last[len(last)-1].At)
			took := first.Sub(since)
			t.Logf("%s It took %s; the bound is %s and %d times %s.", tc.reason, took, tc.bound, steps, slowest)
			leader = standby
			if kept = took <= tc.bound+steps*slowest; kept {
				break
			}
		}
		assert.True(t, kept, tc.reason)
	}
	enough()
	load.Wait()
	assertOnce(t, stage.Namespace, allEnded(ctx, t, stage, created, nil))
}

// work returns what a replica wrote about runs and Jobs, by the time at which
// the API server received it. A leader that stops writes its queued Events
// after the release.
func work(t *testing.T, namespace string, r *replica) []controlplane.Request {
	t.Helper()
	all := slices.DeleteFunc(requests(t, namespace), func(q controlplane.Request) bool {
		return q.User.Username != r.user || !q.Writes() || q.For.Resource == "leases" || q.For.Resource == "events"
	})
	slices.SortFunc(all, func(a, b controlplane.Request) int { return a.At.Compare(b.At.Time) })
	return all
}

// leaseWritten returns when the API server received the replica's last write of
// its lease. A replica that has stopped has released it then.
func leaseWritten(t *testing.T, namespace string, r *replica) (at time.Time) {
	t.Helper()
	for _, q := range requests(t, namespace) {
		if q.User.Username == r.user && q.For.Resource == "leases" && q.Writes() {
			at = q.At.Time
		}
	}
	require.False(t, at.IsZero(), "%s wrote its lease", r.user)
	return at
}
