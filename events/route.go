// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "time"

const (
	routeTime = 10 * time.Minute // of core/v1, after it took a write that the first group refused
	logTime   = time.Hour        // between two lines about it

	// An API server that starts knows no roles for a moment, and a role that
	// was just granted takes one to have effect. So a write that was denied is
	// made again, and a first route left, after this time.
	roleTime = 15 * time.Second

	// A write is denied for good after this time, in which an API server may
	// start more than once. A Flush and a stop wait for roleTime only.
	patience = 3 * roleTime
)

// A route is the API group that Events are written to, of a Recorder that has
// both: events.k8s.io/v1, or core/v1 for a while.
type route struct {
	core    instant // until when it is core/v1; 0 since events.k8s.io/v1 took a write
	logged  instant // the last line about it
	detours int64   // since that line
}

// A detour is what to log about a route that has changed.
type detour struct {
	why    string
	length time.Duration
	count  int64
}

// A refusal is the answer of one API group.
type refusal struct {
	why       string
	core      bool // by core/v1
	notServed bool // the group is not served
}

// accept is called when a group took a write that the other one had refused, if
// refused is not nil. It returns a detour to log, or nil.
func (r *route) accept(core bool, refused *refusal, now instant) *detour {
	if !core {
		r.core = 0
		return nil
	}
	if refused == nil || now < r.core { // a write at the same time has shown it
		return nil
	}
	length := routeTime
	if r.core == 0 && !refused.notServed {
		length = roleTime
	}
	r.core = now.add(length)
	r.detours++
	if r.logged > 0 && now.since(r.logged) < logTime {
		return nil
	}
	d := &detour{why: refused.why, length: length, count: r.detours}
	r.logged = now
	r.detours = 0
	return d
}
