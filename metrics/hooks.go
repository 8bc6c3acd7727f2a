// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"sync/atomic"
	"time"
)

// The values of the labels result and code. Any word that is not in a list
// counts as "other".
func eventWords() []string { return []string{"emitted", "aggregated", "dropped"} }

func writeWords() []string {
	return []string{
		"unchanged", "written", "gone",
		"superseded", "replaced", "field_conflict", "conflict", "error",
	}
}

func codeWords() []string {
	return []string{"2xx", "3xx", "4xx", "429", "5xx", "canceled", "error"}
}

// asked returns the counters behind p, which exist from the first call on.
func (c *Controller) asked(p *atomic.Pointer[counts], known []string) *counts {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if p.Load() == nil {
		p.Store(newWords("result", known, c.id))
	}
	return p.Load()
}

// Events returns the function that counts n events by result: "emitted",
// "aggregated" (counted in a series, or suppressed) or "dropped". Any other
// word counts as "other", and n below 1 counts nothing. It fits the field
// OnResult of events.Options. From now on the counters exist at zero.
func (c *Controller) Events() func(result string, n int64) {
	if c == nil {
		return func(string, int64) {}
	}
	w := c.asked(&c.events, eventWords())
	return func(result string, n int64) {
		if n > 0 {
			w.add(result, n)
		}
	}
}

// StatusWrites returns the function that counts one commit of an object's
// status by result. The results are the words of package status: "unchanged",
// "written" and "gone" for success; "superseded",
// "replaced", "field_conflict", "conflict" and "error" for failure. Any other
// word counts as "other". The function fits the field OnCommit of
// status.Writer. The counters exist at zero as soon as StatusWrites returns.
//
// The duration of an unchanged commit is not recorded, because it does not
// reach the API server. A negative duration counts as zero.
func (c *Controller) StatusWrites() func(result string, took time.Duration) {
	if c == nil {
		return func(string, time.Duration) {}
	}
	w := c.asked(&c.writes, writeWords())
	return func(result string, took time.Duration) {
		w.add(result, 1)
		if result != "unchanged" {
			record(background(), c.m.inst.statusWriteDuration, took, c.options.record)
		}
	}
}

// background is the context of measurements from hooks that pass no context.
func background() context.Context {
	//nolint:forbidigo // the caller has no context, and no call needs one
	return context.Background()
}
