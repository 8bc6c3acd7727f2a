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

// A refusal is what an answer says that is not a success.
type refusal struct {
	why        string        // for the log
	core       bool          // by core/v1
	notServed  bool          // this API group is not served
	silent     bool          // no answer came in time
	retryAfter time.Duration // how long the server asks to be left alone
}

// useCore reports whether the next request goes to core/v1.
func (s *series) useCore(sink *Sink, l *lane, everywhere, now instant) bool {
	switch {
	case sink.events == nil || sink.core == nil:
		return sink.events == nil
	case s.refusal != nil:
		return !s.refusal.core
	}
	return now < max(l.core, everywhere)
}

// refuse remembers that a group refused a write. It returns nil if the other
// group is left to try. Otherwise it returns the refusal to report, which names
// the permission to grant first, and the next write may try both groups again.
func (s *series) refuse(sink *Sink, latest refusal) *refusal {
	before := s.refusal
	if before == nil && sink.events != nil && sink.core != nil {
		s.refusal = &latest
		return nil
	}
	s.refusal = nil
	if before != nil && !before.notServed && (latest.core || latest.notServed) {
		return before
	}
	return &latest
}

// accept remembers the group that took a write of s. Where Events take another
// way from now on, it returns why and for how long.
func (p *schedule) accept(l *lane, s *series, core bool, now instant) (refused *refusal, length time.Duration) {
	refused, s.refusal = s.refusal, nil
	length = routeTime
	switch {
	case !core:
		l.core = 0
		return nil, 0
	case refused == nil || now < max(l.core, p.core): // a write at the same time has shown it
		return nil, 0
	case refused.notServed:
		p.core = now.add(length)
		return refused, length
	case l.core == 0:
		length = patience
	}
	l.core = now.add(length)
	return refused, length
}
