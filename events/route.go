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
	core    instant  // until when it is core/v1
	again   bool     // so it was before
	refused [2]error // by events.k8s.io/v1 and by core/v1, since the last write of either
}

// useCore reports whether the next request goes to core/v1.
func (s *Sink) useCore(l *lane, everywhere, now instant) bool {
	switch {
	case s.events == nil || s.core == nil:
		return s.events == nil
	case l.refused[0] != nil || l.refused[1] != nil:
		return l.refused[0] != nil
	}
	return now < max(l.core, everywhere)
}

// refuse remembers that a group refused, and reports whether the other one is
// left to try.
func (l *lane) refuse(s *Sink, core bool, err error) (another bool) {
	if s.events == nil || s.core == nil {
		return false
	}
	group := 0
	if core {
		group = 1
	}
	l.refused[group] = err
	return l.refused[1-group] == nil
}

// verdict returns the refusal to report when no group is left. It names the
// permission to grant first. A new round begins.
func (l *lane) verdict(err error) error {
	if first := l.refused[0]; first != nil && !notServed(first) {
		err = first
	} else if l.refused[1] != nil {
		err = l.refused[1]
	}
	l.refused = [2]error{}
	return err
}

// accept remembers the group that took a write, and returns why Events take
// another way from now on; nil where they do not.
func (p *schedule) accept(l *lane, core bool, now instant) *detour {
	refused := l.refused[0]
	l.refused = [2]error{}
	if !core {
		l.core, l.again = 0, false
		return nil
	}
	if refused == nil {
		return nil
	}
	d := &detour{refused, routeTime}
	switch {
	case notServed(refused):
		p.core = now.add(routeTime)
	case !l.again:
		d.length = patience
		fallthrough
	default:
		l.core, l.again = now.add(d.length), true
	}
	return d
}

// A detour is why Events go to core/v1, and for how long.
type detour struct {
	refused error
	length  time.Duration
}
