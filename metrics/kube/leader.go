// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"sync"

	"github.com/proompteng/controllerkit/metrics"
)

// Callbacks wraps the callbacks of an election so that controller.leader
// follows it. The value is 0 from now on, 1 while this process leads, and 0
// before stopped is called. The callbacks are the fields of client-go's
// LeaderCallbacks. The type is not named here because its package imports every
// typed client:
//
//	cb.OnStartedLeading, cb.OnStoppedLeading, err = kube.Callbacks(m, lease,
//		cb.OnStartedLeading, cb.OnStoppedLeading)
//
// Until stopped is called, a second election of the same lease returns an error.
// client-go calls OnStartedLeading in a goroutine that may run after
// OnStoppedLeading; the lease is not shown as held then. A nil callback stays
// nil, so that client-go refuses it.
func Callbacks(
	m *metrics.Metrics,
	name string,
	started func(context.Context),
	stopped func(),
) (onStarted func(context.Context), onStopped func(), err error) {
	lease, err := m.Lease(name)
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	stops := 0 // calls of stopped: none may come between the look at ctx and the change
	if started != nil {
		onStarted = func(ctx context.Context) {
			mu.Lock()
			before := stops
			mu.Unlock()
			ended := ctx.Err() != nil // client-go ends ctx before it calls OnStoppedLeading
			mu.Lock()
			if !ended && stops == before {
				lease.Set(true)
			}
			mu.Unlock()
			started(ctx)
		}
	}
	if stopped != nil {
		onStopped = func() {
			mu.Lock()
			stops++
			lease.Close()
			mu.Unlock()
			stopped()
		}
	}
	return onStarted, onStopped, nil
}
