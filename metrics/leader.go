// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maxLeases bounds the leases of controller.leader.
const maxLeases = 32

type lease struct {
	name    string
	leading atomic.Int64 // 1 or 0
	observe []metric.ObserveOption
}

// Leader exports whether this process leads by the lease of that name; call it
// with false when election begins, so that a process that never led is visible.
// Leases after the 32nd, and names that are empty, too long or not UTF-8, are
// left out and counted in controller.label_overflows.
func (m *Metrics) Leader(name string, leading bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.leases.all()
	v := map[bool]int64{true: 1}[leading]
	for _, l := range all {
		if l.name == name {
			l.leading.Store(v)
			return
		}
	}
	if len(all) >= maxLeases || !usable(name) {
		m.overflows.add(labelLease, 1)
		return
	}
	l := &lease{name: name, observe: observed(attribute.String("lease", name))}
	l.leading.Store(v)
	m.leases.add(l)
}

func (m *Metrics) observeLeases(o metric.Observer) {
	for _, l := range m.leases.all() {
		o.ObserveInt64(m.inst.leader, l.leading.Load(), l.observe...)
	}
}
