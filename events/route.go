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

// A route is the API group that a namespace is written through.
type route struct {
	core    instant     // until when it is core/v1; 0 since events.k8s.io/v1 took a write
	refused [2]*refusal // by events.k8s.io/v1 and by core/v1, since the last write of either
}

// A refusal is an error, and what the log may say of it.
type refusal struct {
	err error
	why string
}

// useCore reports whether the next request goes to core/v1.
func (s *Sink) useCore(l *lane, everywhere, now instant) bool {
	switch {
	case s.events == nil || s.core == nil:
		return s.events == nil
	case l.refused != [2]*refusal{}:
		return l.refused[0] != nil
	}
	return now < max(l.core, everywhere)
}

// refuse remembers that a group refused. It returns nil if the other one is
// left to try. Otherwise it returns the refusal to report, which names the
// permission to grant first, and a new round begins.
func (l *lane) refuse(s *Sink, core bool, a *refusal) *refusal {
	group := 0
	if core {
		group = 1
	}
	l.refused[group] = a
	if s.events != nil && s.core != nil && l.refused[1-group] == nil {
		return nil
	}
	round := l.refused
	l.refused = [2]*refusal{}
	for _, refused := range round {
		if refused != nil && !notServed(refused.err) {
			return refused
		}
	}
	return a
}

// accept remembers the group that took a write. Where Events take another way
// from now on, it returns why and for how long.
func (p *schedule) accept(l *lane, core bool, now instant) (refused *refusal, length time.Duration) {
	refused = l.refused[0]
	l.refused = [2]*refusal{}
	if !core {
		l.core = 0
		return nil, 0
	}
	length = routeTime
	switch {
	case refused == nil:
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
