// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/proompteng/controllerkit/metrics/kube"
)

const leader = `controller_leader{lease="agents"}`

// lock is a lease that this process always gets.
type lock struct {
	record *resourcelock.LeaderElectionRecord
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.record == nil {
		l.record = &resourcelock.LeaderElectionRecord{LeaderTransitions: 1, AcquireTime: metav1.Now()}
	}
	return l.record, nil, nil
}

func (l *lock) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	l.record = &r
	return nil
}

func (l *lock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	l.record = &r
	return nil
}

func (l *lock) RecordEvent(string) {}
func (l *lock) Identity() string   { return "pod-1" }
func (l *lock) Describe() string   { return "agents" }

// The gauge follows a real election.
func TestCallbacksFollowTheElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		started, stopped := make(chan struct{}), make(chan struct{})
		callbacks := leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				assert.Equal(t, "1", scrape(t, ep, "leader")[leader], "the lease is shown as held before the work begins")
				close(started)
				<-ctx.Done()
			},
			OnStoppedLeading: func() {
				assert.Equal(t, "0", scrape(t, ep, "leader")[leader], "the lease is shown as released before the process may exit")
				close(stopped)
			},
		}
		var err error
		callbacks.OnStartedLeading, callbacks.OnStoppedLeading, err = kube.Callbacks(m, "agents",
			callbacks.OnStartedLeading, callbacks.OnStoppedLeading)
		require.NoError(t, err)
		assert.Equal(t, "0", scrape(t, ep, "leader")[leader], "a process that never leads has a series")
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &lock{}, Callbacks: callbacks, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go elector.Run(ctx)
		<-started
		cancel()
		<-stopped
	})
}

// client-go starts OnStartedLeading in a goroutine, which may run after
// OnStoppedLeading.
func TestLateStartIsNotShownAsLeading(t *testing.T) {
	m, ep := newSet(t)
	start, stop, err := kube.Callbacks(m, "agents", func(context.Context) {}, func() {})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stop()
	start(ctx)
	assert.Equal(t, "0", scrape(t, ep, "leader")[leader])
}

func TestCallbacksStayNil(t *testing.T) {
	start, stop, err := kube.Callbacks(nil, "agents", nil, nil)
	require.NoError(t, err)
	assert.Nil(t, start, "client-go refuses it, as it should")
	assert.Nil(t, stop)
}

// The manager starts it when it leads, and ends its ctx when it no longer does.
func TestLeaderRunnable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		made, err := kube.NewLeaderRunnable(m, "agents")
		require.NoError(t, err)
		var runnable interface { // manager.Runnable and manager.LeaderElectionRunnable
			Start(ctx context.Context) error
			NeedLeaderElection() bool
		} = made
		assert.True(t, runnable.NeedLeaderElection())
		assert.Equal(t, "0", scrape(t, ep, "leader")[leader], "a standby has a series")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- runnable.Start(ctx) }()
		synctest.Wait()
		assert.Equal(t, "1", scrape(t, ep, "leader")[leader])
		cancel()
		require.NoError(t, <-ended)
		assert.Equal(t, "0", scrape(t, ep, "leader")[leader])
	})
}

// TestLeader_RefusesASecondElection of a lease while the first is live: each
// would overwrite the other.
func TestLeader_RefusesASecondElection(t *testing.T) {
	m, _ := newSet(t)
	_, stop, err := kube.Callbacks(m, "agents", func(context.Context) {}, func() {})
	require.NoError(t, err)
	_, _, err = kube.Callbacks(m, "agents", func(context.Context) {}, func() {})
	require.ErrorContains(t, err, "metrics: already in use: the lease \"agents\"")
	_, err = kube.NewLeaderRunnable(m, "agents")
	require.ErrorContains(t, err, "metrics: already in use: the lease \"agents\"")
	_, err = kube.NewLeaderRunnable(m.Scope("east"), "agents")
	require.NoError(t, err)
	stop()
	_, err = kube.NewLeaderRunnable(m, "agents")
	require.NoError(t, err, "the election has ended")
}

// A manager without leader election has no name of a lease.
func TestLeaderRunnable_WithoutALease(t *testing.T) {
	m, ep := newSet(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		runnable, err := kube.NewLeaderRunnable(m, "")
		require.NoError(t, err)
		require.NoError(t, runnable.Start(ctx))
	}
	assert.Empty(t, scrape(t, ep, "controller_leader"))
}

// losing is a context whose lease is lost while it is looked at.
type losing struct {
	context.Context

	lose func()
}

func (l losing) Err() error {
	l.lose()
	return nil
}

func TestCallbacks_LookAtTheContextWithoutTheirLock(t *testing.T) {
	m, ep := newSet(t)
	start, stop, err := kube.Callbacks(m, "agents", func(context.Context) {}, func() {})
	require.NoError(t, err)
	start(losing{t.Context(), stop})
	assert.Equal(t, "0", scrape(t, ep, "leader")[leader], "a lease that was lost in between is not shown as held")
	start(t.Context())
	assert.Equal(t, "1", scrape(t, ep, "leader")[leader], "the callbacks serve the next election, too")
}
