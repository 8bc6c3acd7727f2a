// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"k8s.io/utils/ptr"

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
		"Success":   {"End records the result that was set.", t.Context(), ptr.To(metrics.Success), "success"},
		"Zero":      {"A result that was not set is unknown.", t.Context(), new(metrics.Result), "unknown"},
		"Nil":       {"A nil result is unknown.", t.Context(), nil, "unknown"},
		"Undefined": {"An undefined result counts as an error.", t.Context(), ptr.To(metrics.Result(99)), "error"},
		"Canceled":  {"End records under a canceled context too.", canceled, ptr.To(metrics.Canceled), "canceled"},
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
		a.End(t.Context(), ptr.To(metrics.Success))
		assert.Equal(t, "1.5", scrape(t, ep)[`controller_reconcile_duration_seconds_sum{controller="c",result="success"}`])
	})
}

// A reconcile that does not return is counted as a panic, independent of the
// frame that calls End, and the panic goes on. A reconcile that returns early
// is not a panic.
func TestEndTellsAPanicFromAnEarlyReturn(t *testing.T) {
	var nothing map[string]int
	calls := map[string]func(a metrics.Attempt, leave func()){
		"Deferred": func(a metrics.Attempt, leave func()) {
			var result metrics.Result
			defer a.End(t.Context(), &result)
			leave()
		},
		"InAFunction": func(a metrics.Attempt, leave func()) {
			var result metrics.Result
			defer func() { a.End(t.Context(), &result) }()
			leave()
		},
		"NoResult": func(a metrics.Attempt, leave func()) {
			defer a.End(t.Context(), nil)
			leave()
		},
	}
	ways := map[string]struct {
		leave func()
		want  string
	}{
		"Return":  {func() {}, "unknown"},
		"Panic":   {func() { panic("boom") }, "panic"},
		"Runtime": {func() { nothing["x"]++ }, "panic"},
		"Exit":    {runtime.Goexit, "panic"},
		"Recovered": {func() {
			defer func() { _ = recover() }()
			panic("boom")
		}, "unknown"},
	}
	for how, call := range calls {
		for name, way := range ways {
			t.Run(how+name, func(t *testing.T) {
				m, ep := newSet(t, metrics.Options{})
				var value any
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { value = recover() }()
					call(m.Controller("c").Begin(), way.leave)
				}()
				<-ended
				assert.Equal(t, name == "Panic" || name == "Runtime", value != nil, "the panic goes on")
				assert.Equal(t, "1", scrape(t, ep)[reconciles+`{controller="c",result="`+way.want+`"}`])
			})
		}
	}
}

func TestEndCountsOnce(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	first := c.Begin()
	first.End(t.Context(), ptr.To(metrics.Success))
	second := c.Begin() // in the place of the first, most likely
	first.End(t.Context(), ptr.To(metrics.Error))
	copied := second
	second.End(t.Context(), ptr.To(metrics.Success))
	copied.End(t.Context(), ptr.To(metrics.Error))
	third := c.Begin()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { third.End(t.Context(), ptr.To(metrics.Success)) })
	}
	wait.Wait()
	metrics.Attempt{}.End(t.Context(), ptr.To(metrics.Success))
	got := scrape(t, ep)
	assert.Equal(t, "3", got[reconciles+`{controller="c",result="success"}`])
	assert.Equal(t, "0", got[reconciles+`{controller="c",result="error"}`])
	assert.Equal(t, "3", got[`controller_reconcile_duration_seconds_count{controller="c",result="success"}`])
	assert.Equal(t, "0", got[`controller_reconcile_active{controller="c"}`])
}

// In any interleaving, each attempt is counted once although each is ended
// twice.
func TestEndCountsOnceUnderLoad(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 1000 {
				a := c.Begin()
				wait.Go(func() { a.End(t.Context(), ptr.To(metrics.Success)) })
				a.End(t.Context(), ptr.To(metrics.Success))
			}
		})
	}
	wait.Wait()
	got := scrape(t, ep)
	assert.Equal(t, "8000", got[reconciles+`{controller="c",result="success"}`])
	assert.Equal(t, "0", got[`controller_reconcile_active{controller="c"}`])
}
