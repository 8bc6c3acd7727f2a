// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics"
)

const reconciles = "controller_reconciles_total"

func TestEndRecordsWhatHappened(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		reason string
		ctx    context.Context
		result *metrics.Result
		want   string
	}{
		"Success":   {"The result that was set.", t.Context(), new(metrics.Success), "success"},
		"Zero":      {"Nobody set it: the reconcile did not return.", t.Context(), new(metrics.Result), "panic"},
		"Nil":       {"No result is known.", t.Context(), nil, "panic"},
		"Undefined": {"The label stays closed.", t.Context(), new(metrics.Result(99)), "error"},
		"Canceled":  {"A context that has ended loses no record.", canceled, new(metrics.Canceled), "canceled"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, ep := newSet(t, metrics.Options{})
			m.Controller("c").Begin().End(tc.ctx, tc.result)
			got := scrape(t, ep)
			assert.Equal(t, "1", got[reconciles+`{controller="c",result="`+tc.want+`"}`], tc.reason)
			assert.Equal(t, "1", got[`controller_reconcile_duration_seconds_count{controller="c",result="`+tc.want+`"}`], tc.reason)
			assert.Equal(t, "0", got[`controller_reconcile_active{controller="c"}`])
		})
	}
}

func TestEndMeasuresTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t, metrics.Options{})
		a := m.Controller("c").Begin()
		assert.Equal(t, "1", scrape(t, ep)[`controller_reconcile_active{controller="c"}`])
		<-time.After(1500 * time.Millisecond)
		a.End(t.Context(), new(metrics.Success))
		assert.Equal(t, "1.5", scrape(t, ep)[`controller_reconcile_duration_seconds_sum{controller="c",result="success"}`])
	})
}

// The panic of a reconcile is counted and goes on.
func TestPanicIsCountedAndPassedOn(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	assert.PanicsWithValue(t, "boom", func() {
		var result metrics.Result
		defer m.Controller("c").Begin().End(t.Context(), &result)
		panic("boom")
	})
	assert.Equal(t, "1", scrape(t, ep)[reconciles+`{controller="c",result="panic"}`])
}

func TestEndCountsOnce(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	first := c.Begin()
	first.End(t.Context(), new(metrics.Success))
	second := c.Begin() // in the place of the first, most likely
	first.End(t.Context(), new(metrics.Error))
	copied := second
	second.End(t.Context(), new(metrics.Success))
	copied.End(t.Context(), new(metrics.Error))
	third := c.Begin()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { third.End(t.Context(), new(metrics.Success)) })
	}
	wait.Wait()
	metrics.Attempt{}.End(t.Context(), new(metrics.Success))
	got := scrape(t, ep)
	assert.Equal(t, "3", got[reconciles+`{controller="c",result="success"}`])
	assert.Equal(t, "0", got[reconciles+`{controller="c",result="error"}`])
	assert.Equal(t, "3", got[`controller_reconcile_duration_seconds_count{controller="c",result="success"}`])
	assert.Equal(t, "0", got[`controller_reconcile_active{controller="c"}`])
}

// Whatever the interleaving, each attempt is counted once although each is ended twice.
func TestEndCountsOnceUnderLoad(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 1000 {
				a := c.Begin()
				wait.Go(func() { a.End(t.Context(), new(metrics.Success)) })
				a.End(t.Context(), new(metrics.Success))
			}
		})
	}
	wait.Wait()
	got := scrape(t, ep)
	assert.Equal(t, "8000", got[reconciles+`{controller="c",result="success"}`])
	assert.Equal(t, "0", got[`controller_reconcile_active{controller="c"}`])
}
