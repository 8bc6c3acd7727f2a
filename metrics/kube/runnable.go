// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"github.com/proompteng/controllerkit/metrics"
)

// LeaderRunnable exports whether a manager of controller-runtime leads. Make it
// with [NewLeaderRunnable] and add it to the manager.
type LeaderRunnable struct{ lease *metrics.Lease }

// NewLeaderRunnable exports controller.leader for the lease, 0 from now on. It
// starts nothing: the manager does, to which you add it.
//
// A manager without leader election leads from its start on. Without the name
// of a lease nothing is exported. Until the manager ends, a second one of the
// same lease returns an error.
func NewLeaderRunnable(m *metrics.Metrics, lease string) (*LeaderRunnable, error) {
	if lease == "" {
		return new(LeaderRunnable), nil
	}
	l, err := m.Lease(lease)
	return &LeaderRunnable{l}, err
}

// Start shows the lease as held until ctx ends.
func (r *LeaderRunnable) Start(ctx context.Context) error {
	r.lease.Set(true)
	<-ctx.Done()
	r.lease.Close()
	return nil
}

// NeedLeaderElection says that the manager starts it when it leads.
func (r *LeaderRunnable) NeedLeaderElection() bool { return true }
