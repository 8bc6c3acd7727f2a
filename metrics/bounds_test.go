// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics"
)

func TestConditions(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	ready := metrics.Condition{Type: "Ready", Status: "True"}
	stop := m.ObserveConditions("AgentRun", counted(map[metrics.Condition]int64{
		ready: 3, {Type: "Phase", Status: "Running"}: 0, {Type: "", Status: "x"}: 1, {Type: "Ready", Status: "\xff"}: 1,
	}))
	m.ObserveConditions("AgentRun", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		return func(yield func(metrics.Condition, int64) bool) {
			for range 2 {
				if !yield(ready, 1) {
					return
				}
			}
		}
	})
	got := scrape(t, ep)
	assert.Equal(t, map[string]string{
		`controller_objects{condition="Ready",kind="AgentRun",status="True"}`:    "5",
		`controller_objects{condition="Phase",kind="AgentRun",status="Running"}`: "0",
		`controller_objects{condition="other",kind="other",status="other"}`:      "2",
	}, with(got, "controller_objects"), "pairs that come twice add up; a gauge alone would overwrite")
	assert.Equal(t, "2", got[`controller_label_overflows_total{label="condition"}`])
	stop()
	stop()
	assert.Equal(t, map[string]string{
		`controller_objects{condition="Ready",kind="AgentRun",status="True"}`: "2",
	}, with(scrape(t, ep), "controller_objects"))
}

func TestConditionsAreBounded(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	for kind := range 3 {
		m.ObserveConditions(fmt.Sprint("Kind", kind), func(context.Context) iter.Seq2[metrics.Condition, int64] {
			return func(yield func(metrics.Condition, int64) bool) {
				for i := range 500 {
					if !yield(metrics.Condition{Type: fmt.Sprint(i), Status: "True"}, 1) {
						return
					}
				}
			}
		})
	}
	got := with(scrape(t, ep), "controller_objects")
	assert.Len(t, got, 1001)
	assert.Equal(t, "500", got[`controller_objects{condition="other",kind="other",status="other"}`])
}

// Prometheus keeps a series that it scraped once. So the bound holds over all
// scrapes, and the first pairs keep their series.
func TestConditionsAreBoundedOverTime(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	m.ObserveConditions("Few", counted(map[metrics.Condition]int64{{Type: "Ready", Status: "True"}: 7}))
	many := map[metrics.Condition]int64{}
	for i := range 5000 {
		many[metrics.Condition{Type: fmt.Sprint(i), Status: "True"}] = 1
	}
	stop := m.ObserveConditions("Many", counted(many)) // in another order each time
	seen := map[string]string{}
	for range 20 {
		got := with(scrape(t, ep), "controller_objects")
		assert.Equal(t, "7", got[`controller_objects{condition="Ready",kind="Few",status="True"}`])
		assert.Equal(t, "4001", got[`controller_objects{condition="other",kind="other",status="other"}`])
		maps.Copy(seen, got)
	}
	assert.Len(t, seen, 1001)
	stop()
	m.ObserveConditions("Late", counted(map[metrics.Condition]int64{{Type: "Ready", Status: "True"}: 3}))
	assert.Equal(t, map[string]string{
		`controller_objects{condition="Ready",kind="Few",status="True"}`:    "7",
		`controller_objects{condition="other",kind="other",status="other"}`: "3",
	}, with(scrape(t, ep), "controller_objects"), "a pair that disappears keeps its place")
}

func TestLeader(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	m.Leader("a", false)
	m.Leader("b", true)
	m.Leader("", true)
	assert.Equal(t, map[string]string{`controller_leader{lease="a"}`: "0", `controller_leader{lease="b"}`: "1"},
		with(scrape(t, ep), "controller_leader"))
	m.Leader("a", true)
	m.Leader("b", false)
	for i := range 100 {
		m.Leader(fmt.Sprint("lease", i), true)
	}
	got := with(scrape(t, ep), "controller_leader")
	assert.Len(t, got, 32)
	assert.Equal(t, "1", got[`controller_leader{lease="a"}`])
	assert.Equal(t, "0", got[`controller_leader{lease="b"}`])
	assert.Equal(t, "71", scrape(t, ep)[`controller_label_overflows_total{label="lease"}`])
}

func TestClientRequestsAreBounded(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	for i := range 256 {
		m.ClientRequest(t.Context(), metrics.Request{Verb: "get", Group: "g", Resource: fmt.Sprint("r", i), Code: "2xx"}, time.Second)
	}
	for i := range 1000 {
		m.ClientRequest(t.Context(), metrics.Request{Verb: "list", Group: "g", Resource: fmt.Sprint("r", i), Code: "5xx"}, time.Second)
	}
	m.ClientRequest(t.Context(), metrics.Request{Verb: "get", Group: "g", Resource: "r7", Code: "2xx"}, time.Second)
	got := with(scrape(t, ep), "request_duration_seconds_count")
	assert.Len(t, got, 257)
	assert.Equal(t, "2", got[`controller_client_request_duration_seconds_count{code="2xx",group="g",resource="r7",verb="get"}`])
	assert.Equal(t, "1000", got[`controller_client_request_duration_seconds_count{code="5xx",group="other",resource="other",verb="list"}`],
		"verb and code survive")
	for i := range 1000 {
		m.ClientRequest(t.Context(), metrics.Request{Verb: fmt.Sprint("verb", i), Code: "2xx"}, -time.Second)
	}
	m.ClientRequest(t.Context(), metrics.Request{Verb: "\xff"}, time.Second)
	m.ClientRequest(t.Context(), metrics.Request{Verb: strings.Repeat("x", 300)}, time.Second)
	got = with(scrape(t, ep), "request_duration_seconds_count")
	assert.Len(t, got, 256+64+1)
	assert.Equal(t, "939", got[`controller_client_request_duration_seconds_count{code="other",group="other",resource="other",verb="other"}`])
	assert.Equal(t, "2002", scrape(t, ep)[`controller_label_overflows_total{label="resource"}`])
}
