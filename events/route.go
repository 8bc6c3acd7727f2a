// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "time"

const (
	routeTime = 10 * time.Minute
	// An API server that starts knows no roles for a moment, and a role that
	// was just granted takes one to have effect. So a write is denied for good,
	// and a first route left, after this time.
	patience = 15 * time.Second
)

// A refusal is the error of an API group, and what the log may say of it.
type refusal struct {
	err  error
	why  string
	core bool // by core/v1
}

// useCore reports whether the next request of s goes to core/v1.
func (k *Sink) useCore(l *lane, s *series, everywhere, now instant) bool {
	switch {
	case k.events == nil || k.core == nil:
		return k.events == nil
	case s.other != nil:
		return !s.other.core
	}
	return now < max(l.core, everywhere)
}

// refuse remembers that a group refused a write of s. It returns nil if the
// other one is left to try. Otherwise it returns the refusal to report, which
// names the permission to grant first, and a new round begins.
func (k *Sink) refuse(s *series, a refusal) *refusal {
	other := s.other
	if other == nil && k.events != nil && k.core != nil {
		s.other = &a
		return nil
	}
	s.other = nil
	if other != nil && !notServed(other.err) && (a.core || notServed(a.err)) {
		return other
	}
	return &a
}

// accept remembers the group that took a write of s. Where Events take another
// way from now on, it returns why and for how long.
func (p *schedule) accept(l *lane, s *series, core bool, now instant) (refused *refusal, length time.Duration) {
	refused, s.other = s.other, nil
	length = routeTime
	switch {
	case !core:
		l.core = 0
		return nil, 0
	case refused == nil || now < max(l.core, p.core): // of writes at the same time the first one shows it
		return nil, 0
	case notServed(refused.err):
		p.core = now.add(length)
		return refused, length
	case l.core == 0:
		length = patience
	}
	l.core = now.add(length)
	return refused, length
}
