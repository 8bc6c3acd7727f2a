// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"github.com/proompteng/controllerkit/metrics"
)

// LeaderRunnable exports whether a manager of controller-runtime leads. Make it
// with [NewLeaderRunnable] and add it to the manager; a nil one cannot be used.
type LeaderRunnable struct {
	m     *metrics.Metrics
	lease string
}

// NewLeaderRunnable exports controller.leader for the lease, 0 from now on. It
// starts nothing: the manager does.
//
//	mgr.Add(kube.NewLeaderRunnable(m, options.LeaderElectionID))
//
// A manager without leader election leads from its start on. Without the name
// of a lease nothing is exported.
func NewLeaderRunnable(m *metrics.Metrics, lease string) *LeaderRunnable {
	if lease == "" {
		m = nil // which records nothing
	}
	m.Leader(lease, false)
	return &LeaderRunnable{m, lease}
}

// Start shows the lease as held until ctx ends.
func (r *LeaderRunnable) Start(ctx context.Context) error {
	r.m.Leader(r.lease, true)
	<-ctx.Done()
	r.m.Leader(r.lease, false)
	return nil
}

// NeedLeaderElection says that the manager starts it when it leads.
func (r *LeaderRunnable) NeedLeaderElection() bool { return true }
