// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/proompteng/controllerkit/metrics"
)

// Callbacks wraps the callbacks of an election so that controller.leader follows it: 0 from now on, 1 while this process
// leads, 0 before OnStoppedLeading is called. client-go calls OnStartedLeading in a goroutine that may run after
// OnStoppedLeading; the lease is not shown as held then. A nil callback stays nil, so that client-go refuses it.
func Callbacks(m *metrics.Metrics, lease string, cb leaderelection.LeaderCallbacks) leaderelection.LeaderCallbacks {
	m.Leader(lease, false)
	var mu sync.Mutex // started looks at ctx and then sets; stopped must not come between
	started, stopped := cb.OnStartedLeading, cb.OnStoppedLeading
	if started != nil {
		cb.OnStartedLeading = func(ctx context.Context) {
			mu.Lock()
			if ctx.Err() == nil { // client-go ends ctx before it calls OnStoppedLeading
				m.Leader(lease, true)
			}
			mu.Unlock()
			started(ctx)
		}
	}
	if stopped != nil {
		cb.OnStoppedLeading = func() {
			mu.Lock()
			m.Leader(lease, false)
			mu.Unlock()
			stopped()
		}
	}
	return cb
}
