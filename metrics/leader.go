// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Lease exports whether this process leads by a lease. Get it from
// [Metrics.Lease]. Its methods are safe for concurrent use, and a nil *Lease
// does nothing.
type Lease struct {
	m       *Metrics
	all     metric.MeasurementOption
	leading bool // guarded by set.mu, as is live
	live    bool
}

// Lease exports controller.leader for the lease of that name, 0 from now on, so
// that a process that never led is visible. While the lease is live, until its
// Close, a second call returns an error. On a nil Metrics it returns nil and no
// error.
func (m *Metrics) Lease(name string) (*Lease, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // a nil *Lease does nothing
	}
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	known, ok := m.leases[name]
	if ok && known.live {
		return nil, fmt.Errorf("metrics: already in use: the lease %q is exported by another election "+
			"of this process; give each cluster its own Metrics.Scope", name)
	}
	l := &Lease{m: m, all: m.attributes(label("lease", name)), live: true}
	m.leases[name] = l
	return l, nil
}

// Set sets whether this process leads. It has no effect after another Lease has
// taken the name.
func (l *Lease) Set(leading bool) {
	if l == nil {
		return
	}
	l.m.set.mu.Lock()
	defer l.m.set.mu.Unlock()
	l.live = true
	l.leading = leading
}

// Close sets the lease to 0 and frees its name. A later Set takes it again.
func (l *Lease) Close() {
	if l == nil {
		return
	}
	l.m.set.mu.Lock()
	defer l.m.set.mu.Unlock()
	l.live = false
	l.leading = false
}
