// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
)

// TestController_CountersExistBeforeTheFirstRecord: rate() sees the first error
// only if the series was there before it.
func TestController_CountersExistBeforeTheFirstRecord(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	c := m.Controller("c")
	assert.Same(t, c, m.Controller("c"))
	assert.Equal(t, map[string]float64{
		`controller.reconciles{controller="c",result="success"}`:        0,
		`controller.reconciles{controller="c",result="requeue_after"}`:  0,
		`controller.reconciles{controller="c",result="error"}`:          0,
		`controller.reconciles{controller="c",result="terminal_error"}`: 0,
		`controller.reconciles{controller="c",result="timeout"}`:        0,
		`controller.reconciles{controller="c",result="canceled"}`:       0,
		`controller.reconciles{controller="c",result="panic"}`:          0,
		`controller.reconcile.active{controller="c"}`:                   0,
		`controller.failing{controller="c",result="error"}`:             0,
		`controller.failing{controller="c",result="terminal"}`:          0,
		`controller.failing.longest{controller="c",result="error"}`:     0,
		`controller.failing.longest{controller="c",result="terminal"}`:  0,
	}, collect(t, reader), "and no others")

	c.Runs()
	got := collect(t, reader)
	for name := range got {
		if strings.Contains(name, "reconcile") || strings.Contains(name, "failing") {
			delete(got, name)
		}
	}
	assert.Equal(t, map[string]float64{
		`controller.runs{controller="c",result="success"}`:        0,
		`controller.runs{controller="c",result="error"}`:          0,
		`controller.runs{controller="c",result="terminal_error"}`: 0,
		`controller.runs{controller="c",result="timeout"}`:        0,
		`controller.runs{controller="c",result="canceled"}`:       0,
		`controller.missing_jobs{controller="c"}`:                 0,
	}, got)
}

// TestRuns_End counts a run that never started too. It has no duration.
func TestRuns_End(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	runs := m.Controller("c").Runs()
	runs.Active(3)
	runs.Active(-1)
	runs.JobMissing()
	runs.End(t.Context(), time.Minute, metrics.Success)
	runs.End(t.Context(), 0, metrics.Success)
	runs.End(t.Context(), -1, metrics.TerminalError)
	const undefined = metrics.Result(8)
	assert.Equal(t, "error", undefined.String())
	runs.End(t.Context(), time.Second, undefined)
	assert.Equal(t, map[string]float64{
		`controller.runs{controller="c",result="success"}`:             2,
		`controller.run.duration{controller="c",result="success"}`:     2,
		`controller.run.duration_sum{controller="c",result="success"}`: 60,
		`controller.runs{controller="c",result="terminal_error"}`:      1,
		`controller.runs{controller="c",result="error"}`:               1,
		`controller.run.duration{controller="c",result="error"}`:       1,
		`controller.run.duration_sum{controller="c",result="error"}`:   1,
		`controller.run.active{controller="c"}`:                        2,
		`controller.missing_jobs{controller="c"}`:                      1,
	}, notZero(collect(t, reader)))
}

// TestController_StatesAreShownWhenTheyAreKnown: zero is a value, and unknown
// is none.
func TestController_StatesAreShownWhenTheyAreKnown(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	c := m.Controller("c")
	var q metrics.QueueState
	require.NoError(t, c.ObserveQueue(func() metrics.QueueState { return q }))
	states := func() map[string]float64 {
		got := collect(t, reader)
		for name := range got {
			switch name {
			case `controller.worker.limit{controller="c"}`,
				`controller.retention{controller="c",of="job"}`,
				`controller.retention{controller="c",of="run"}`,
				`controller.retention{controller="c",of="log"}`,
				`controller.queue.depth{controller="c"}`,
				`controller.queue.unfinished_work{controller="c"}`,
				`controller.queue.longest_running{controller="c"}`:
			default:
				delete(got, name)
			}
		}
		return got
	}
	assert.Equal(t, map[string]float64{
		`controller.queue.depth{controller="c"}`:           0,
		`controller.queue.unfinished_work{controller="c"}`: 0,
		`controller.queue.longest_running{controller="c"}`: 0,
	}, states())

	c.SetWorkers(1)
	c.Runs().Retention(0, time.Hour, time.Minute)
	q = metrics.QueueState{Depth: 4, Unfinished: 3 * time.Second, Longest: 2 * time.Second}
	assert.Equal(t, map[string]float64{
		`controller.worker.limit{controller="c"}`:          1,
		`controller.retention{controller="c",of="job"}`:    0,
		`controller.retention{controller="c",of="run"}`:    3600,
		`controller.retention{controller="c",of="log"}`:    60,
		`controller.queue.depth{controller="c"}`:           4,
		`controller.queue.unfinished_work{controller="c"}`: 3,
		`controller.queue.longest_running{controller="c"}`: 2,
	}, states())

	c.SetWorkers(-1)
	c.Runs().Retention(-1, -1, -1)
	q = metrics.QueueState{Depth: -1, Unfinished: -1, Longest: -1}
	assert.Empty(t, states())
}

// TestController_Queue counts what a queue reports.
func TestController_Queue(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	c := m.Controller("c")
	require.NoError(t, c.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{} }))
	got := collect(t, reader)
	assert.Contains(t, got, `controller.queue.adds{controller="c"}`)
	assert.Contains(t, got, `controller.queue.retries{controller="c"}`)
	c.QueueAdd()
	c.QueueAdd()
	c.QueueRetry()
	c.QueueWait(2 * time.Second)
	c.QueueWait(-time.Second)
	assert.Equal(t, map[string]float64{
		`controller.queue.adds{controller="c"}`:              2,
		`controller.queue.retries{controller="c"}`:           1,
		`controller.queue.wait.duration{controller="c"}`:     2,
		`controller.queue.wait.duration_sum{controller="c"}`: 2,
	}, notZero(collect(t, reader)))
}

// TestController_Hooks: the functions have the shapes of the hooks of packages
// events and status, and their words exist at zero.
func TestController_Hooks(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	c := m.Controller("c")
	events := struct{ OnResult func(result string, n int64) }{c.Events()}
	writer := struct {
		OnCommit func(result string, took time.Duration)
	}{c.StatusWrites()}
	got := collect(t, reader)
	assert.Len(t, with(got, "controller.events"), 3)
	assert.Len(t, with(got, "controller.status_writes"), 8)

	events.OnResult("emitted", 2)
	events.OnResult("new word", 4)
	writer.OnCommit("unchanged", time.Second)
	writer.OnCommit("written", time.Second)
	writer.OnCommit("conflict", -time.Second)
	assert.Equal(t, map[string]float64{
		`controller.events{controller="c",result="emitted"}`:          2,
		`controller.events{controller="c",result="new word"}`:         4,
		`controller.status_writes{controller="c",result="unchanged"}`: 1,
		`controller.status_writes{controller="c",result="written"}`:   1,
		`controller.status_writes{controller="c",result="conflict"}`:  1,
		`controller.status_write.duration{controller="c"}`:            2, // unchanged commits make no request
		`controller.status_write.duration_sum{controller="c"}`:        1,
	}, notZero(collect(t, reader)))
}

// TestMetrics_ObserveCache: of two caches of a resource the older one shows.
func TestMetrics_ObserveCache(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	stop := m.ObserveCache("pods", func() time.Duration { return time.Hour })
	m.ObserveCache("pods", func() time.Duration { return time.Minute })
	m.ObserveCache("jobs", func() time.Duration { return -1 })
	m.ObserveCache("nodes", func() time.Duration { return 0 })
	nodes := `controller.cache.age{resource="nodes"}`
	assert.Equal(t, map[string]float64{`controller.cache.age{resource="pods"}`: 3600, nodes: 0}, collect(t, reader))
	stop()
	stop()
	assert.Equal(t, map[string]float64{`controller.cache.age{resource="pods"}`: 60, nodes: 0}, collect(t, reader))
}

// TestMetrics_ObserveConditions: there is no series per object.
func TestMetrics_ObserveConditions(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	ready := metrics.Condition{Type: "Ready", Status: "True"}
	m.ObserveConditions("Run", counted(map[metrics.Condition]int64{ready: 3}))
	m.ObserveConditions("Run", counted(map[metrics.Condition]int64{ready: 4}))
	assert.Equal(t, map[string]float64{`controller.objects{condition="Ready",kind="Run",status="True"}`: 7}, collect(t, reader))
}

// TestNil_RecordsNothing: a component without metrics must work.
func TestNil_RecordsNothing(t *testing.T) {
	var m *metrics.Metrics
	assert.Nil(t, m.Controller("c"))
	assert.Nil(t, m.Scope("east"))
	exercise(t, m)
	m.ObserveConditions("Pod", nil)
	m.ObserveCache("pods", nil)()
	lease, err := m.Lease("agents")
	require.NoError(t, err)
	lease.Close()

	some, reader := newSet(t, metrics.Options{})
	require.NoError(t, some.Controller("c").ObserveQueue(nil))
	some.ObserveConditions("Pod", nil)
	stop := some.ObserveCache("pods", nil)
	collect(t, reader) // without an error
	stop()
}
