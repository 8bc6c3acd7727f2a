// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics"
)

// step is a reconcile of a key, some time after the one before.
type step struct {
	pause time.Duration
	key   any
	after time.Duration
	err   error
}

// TestFailing_IsAFactOfTheResults: the kind of the queue plays no part.
//
//req:shows O2
func TestFailing_IsAFactOfTheResults(t *testing.T) {
	type failing struct{ errors, terminal, errorSeconds, terminalSeconds float64 }
	cases := map[string]struct {
		reason string
		steps  []step
		then   time.Duration // until the collection
		want   failing
	}{
		"None":     {"A controller shows that nothing fails.", nil, 0, failing{}},
		"Fails":    {"The age counts from the first failure.", []step{{0, "a", 0, errRefused}, {time.Minute, "a", 0, errRefused}}, time.Minute, failing{1, 0, 120, 0}},
		"Succeeds": {"A success ends it.", []step{{0, "a", 0, errRefused}, {time.Minute, "a", 0, nil}}, 0, failing{}},
		"Again":    {"A failure after a success is a new one.", []step{{0, "a", 0, errRefused}, {time.Minute, "a", 0, nil}, {time.Minute, "a", 0, errRefused}}, time.Second, failing{1, 0, 1, 0}},
		"Polls":    {"Many polls are not a failure.", []step{{0, "a", time.Second, nil}, {time.Hour, "a", time.Second, nil}}, time.Hour, failing{}},
		"Requeues": {"A poll ends a failure.", []step{{0, "a", 0, errRefused}, {time.Minute, "a", time.Second, nil}}, 0, failing{}},
		"Terminal": {"A terminal error counts immediately.", []step{{0, "a", 0, errInvalid}}, time.Minute, failing{0, 1, 0, 60}},
		"TerminalAfterError": {
			"It counts the same after an error.",
			[]step{{0, "a", 0, errRefused}, {time.Minute, "a", 0, errInvalid}},
			time.Minute,
			failing{0, 1, 0, 120},
		},
		"ErrorAfterTerminal": {"The last failure decides.", []step{{0, "a", 0, errInvalid}, {time.Minute, "a", 0, errRefused}}, 0, failing{1, 0, 60, 0}},
		"Canceled":           {"A stop is not about the object.", []step{{0, "a", 0, errRefused}, {time.Minute, "a", 0, context.Canceled}}, 0, failing{1, 0, 60, 0}},
		"CanceledAlone":      {"It is not a failure either.", []step{{0, "a", 0, context.Canceled}}, 0, failing{}},
		"Timeout":            {"A deadline that passed is.", []step{{0, "a", 0, context.DeadlineExceeded}}, 0, failing{1, 0, 0, 0}},
		"Keys":               {"Each key counts, and the longest shows.", []step{{0, "7", 0, errRefused}, {time.Minute, 7, 0, errRefused}, {time.Minute, "c", 0, errInvalid}}, 0, failing{2, 1, 120, 0}},
		"NotComparable":      {"Any key will do.", []step{{0, []string{"a"}, 0, errRefused}, {time.Minute, []string{"a"}, 0, errRefused}}, 0, failing{1, 0, 60, 0}},
		"NilKey":             {"Even none.", []step{{0, nil, 0, errRefused}}, 0, failing{1, 0, 0, 0}},
		"AnHour":             {"A key that is reconciled each hour stays.", []step{{0, "a", 0, errRefused}, {time.Hour, "a", 0, errRefused}}, time.Hour, failing{1, 0, 7200, 0}},
		"Forgotten":          {"A key that is not reconciled for longer goes: its object may be gone.", []step{{0, "a", 0, errRefused}}, time.Hour + time.Second, failing{}},
		"TerminalStays":      {"A terminal error has no retry, so it stays.", []step{{0, "a", 0, errInvalid}}, 48 * time.Hour, failing{0, 1, 0, 172800}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, reader := newSet(t, metrics.Options{IsTerminal: isInvalid})
				c := m.Controller("c")
				for _, s := range tc.steps {
					time.Sleep(s.pause)
					_ = reconcile(t.Context(), c, s.key, s.after, s.err)
				}
				time.Sleep(tc.then)
				got := collect(t, reader)
				assert.Equal(t, map[string]float64{
					`controller.failing{controller="c",result="error"}`:            tc.want.errors,
					`controller.failing{controller="c",result="terminal"}`:         tc.want.terminal,
					`controller.failing.longest{controller="c",result="error"}`:    tc.want.errorSeconds,
					`controller.failing.longest{controller="c",result="terminal"}`: tc.want.terminalSeconds,
				}, with(got, "controller.failing"), tc.reason)
			})
		})
	}
}

// TestFailing_CountsAPanic: until the key succeeds.
func TestFailing_CountsAPanic(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	c := m.Controller("c")
	func() {
		defer func() { _ = recover() }()
		_, done := c.Begin(t.Context(), "a")
		defer done(nil, nil)
		panic("boom")
	}()
	assert.InDelta(t, 1, collect(t, reader)[`controller.failing{controller="c",result="error"}`], 0)
}

// TestFailing_RemembersABoundedNumberOfKeys: the first that failed, and
// another when one of them succeeds. Terminal failures do not hide the others.
func TestFailing_RemembersABoundedNumberOfKeys(t *testing.T) {
	m, reader := newSet(t, metrics.Options{IsTerminal: isInvalid})
	c := m.Controller("c")
	failing := func() float64 { return collect(t, reader)[`controller.failing{controller="c",result="error"}`] }
	for key := range 10_100 {
		_ = reconcile(t.Context(), c, key, 0, errRefused)
	}
	assert.InDelta(t, 10_000, failing(), 0)
	_ = reconcile(t.Context(), c, 5, 0, nil)
	assert.InDelta(t, 9_999, failing(), 0)
	_ = reconcile(t.Context(), c, 10_099, 0, errRefused)
	assert.InDelta(t, 10_000, failing(), 0)

	for key := range 10_100 {
		_ = reconcile(t.Context(), c, -1-key, 0, errInvalid)
	}
	assert.Equal(t, map[string]float64{
		`controller.failing{controller="c",result="error"}`:    10_000,
		`controller.failing{controller="c",result="terminal"}`: 10_000,
	}, with(collect(t, reader), "controller.failing{"))
	_ = reconcile(t.Context(), c, 0, 0, errInvalid)
	assert.InDelta(t, 9_999, failing(), 0, "no longer of this kind, and one too many of the other")

	for key := range 10_100 {
		c.Begin(t.Context(), key)
	}
	assert.InDelta(t, 10_000, collect(t, reader)[`controller.reconcile.active{controller="c"}`], 0, "nor does a forgotten done grow without bound")
}
