// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/proompteng/controllerkit/metrics"
)

// TestScope_KeepsClustersApart: two managers in one process have controllers,
// queues, leases and caches of the same names.
func TestScope_KeepsClustersApart(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	east := m.Scope("east")
	assert.Same(t, east, m.Scope("east"))
	assert.Same(t, east, m.Scope("west").Scope("east"), "a scope is not in another")
	assert.Same(t, m, east.Scope(""))
	for n, cluster := range []*metrics.Metrics{m, east, m.Scope("west")} {
		exercise(t, cluster)
		lease, err := cluster.Lease("of one")
		require.NoError(t, err)
		lease.Set(n == 1)
	}
	got := collect(t, reader)
	alone, one := newSet(t, metrics.Options{})
	exercise(t, alone)
	for _, n := range []string{"", `,scope="east"`, `,scope="west"`} {
		assert.InDelta(t, 1, got[`controller.reconcile.active{controller="agentrun"`+n+`}`], 0)
		assert.InDelta(t, 4, got[`controller.worker.limit{controller="agentrun"`+n+`}`], 0)
		assert.InDelta(t, 3, got[`controller.queue.depth{controller="agentrun"`+n+`}`], 0)
		assert.InDelta(t, 45, got[`controller.cache.age{resource="pods"`+n+`}`], 0)
	}
	assert.Zero(t, got[`controller.leader{lease="of one"}`])
	assert.InDelta(t, 1, got[`controller.leader{lease="of one",scope="east"}`], 0)
	assert.Zero(t, got[`controller.leader{lease="of one",scope="west"}`])
	assert.Len(t, got, 3*len(collect(t, one))+3, "each series of the set has one of each scope")
}

// TestScope_IsNeededForASecondQueueOrLease: without it the second cluster of a
// process is refused, because it would overwrite the first.
func TestScope_IsNeededForASecondQueueOrLease(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	empty := func() metrics.QueueState { return metrics.QueueState{} }
	require.NoError(t, m.Controller("c").ObserveQueue(empty))
	err := m.Controller("c").ObserveQueue(func() metrics.QueueState { return metrics.QueueState{Depth: 5} })
	require.EqualError(t, err, `metrics: already in use: the controller "c" has a queue; make its QueueProvider once, and give each cluster its own Metrics.Scope`)
	assert.Zero(t, collect(t, reader)[`controller.queue.depth{controller="c"}`], "the first stays")
	require.NoError(t, m.Scope("east").Controller("c").ObserveQueue(empty))

	_, err = m.Lease("agents")
	require.NoError(t, err)
	_, err = m.Lease("agents")
	require.EqualError(t, err, `metrics: already in use: the lease "agents" is exported by another election of this process; give each cluster its own Metrics.Scope`)
	_, err = m.Scope("east").Lease("agents")
	require.NoError(t, err)
}

// TestLease_IsFreeAfterClose: the next election of the process takes it, and
// the series stays.
func TestLease_IsFreeAfterClose(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	leading := func() float64 {
		got := collect(t, reader)
		require.Contains(t, got, `controller.leader{lease="agents"}`)
		return got[`controller.leader{lease="agents"}`]
	}
	first, err := m.Lease("agents")
	require.NoError(t, err)
	assert.Zero(t, leading(), "a process that never leads has a series")
	first.Set(true)
	assert.InDelta(t, 1, leading(), 0)
	first.Close()
	assert.Zero(t, leading())
	first.Set(true)
	_, err = m.Lease("agents")
	require.ErrorContains(t, err, "already in use", "the same callbacks may lead again")
	first.Close()
	second, err := m.Lease("agents")
	require.NoError(t, err)
	first.Set(true)
	assert.Zero(t, leading(), "the first has lost its effect")
	second.Set(true)
	assert.InDelta(t, 1, leading(), 0)
}

// TestNew_TwoSetsOfOneProvider: counters add up.
func TestNew_TwoSetsOfOneProvider(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	for range 2 {
		m, err := metrics.New(provider, metrics.Options{})
		require.NoError(t, err)
		exercise(t, m)
	}
	got := collect(t, reader)
	assert.InDelta(t, 2, got[`controller.reconciles{controller="agentrun",result="requeue_after"}`], 0)
	assert.InDelta(t, 2, got[`controller.queue.adds{controller="agentrun"}`], 0)
}
