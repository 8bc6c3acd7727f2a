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

func TestControllerIsTheSameForTheSameName(t *testing.T) {
	m, _ := newSet(t, metrics.Options{})
	first := m.Controller("a")
	assert.Same(t, first, m.Controller("a"))
	assert.NotSame(t, m.Controller("a"), m.Controller("b"))
}

// rate() sees the first error only if the series was there before it.
func TestCountersExistBeforeTheFirstRecord(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	c.Runs()
	c.Events()
	c.StatusWrites()
	got := scrape(t, ep)
	for _, r := range []metrics.Result{
		metrics.Panic, metrics.Success, metrics.Requeue, metrics.RequeueAfter,
		metrics.Error, metrics.TerminalError, metrics.Timeout, metrics.Canceled,
	} {
		assert.Equal(t, "0", got[`controller_reconciles_total{controller="c",result="`+r.String()+`"}`])
	}
	for _, series := range []string{
		`controller_runs_total{controller="c",result="error"}`,
		`controller_missing_jobs_total{controller="c"}`,
		`controller_events_total{controller="c",result="dropped"}`,
		`controller_status_writes_total{controller="c",result="conflict"}`,
		`controller_label_overflows_total{label="controller"}`,
		`controller_client_requests_total{code="429"}`,
	} {
		assert.Equal(t, "0", got[series], series)
	}
}

// A controller without further instruments has few series.
func TestAPlainControllerHasFewSeries(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("plain")
	c.SetWorkers(1)
	c.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{} })
	plain := with(scrape(t, ep), `"plain"`)
	assert.LessOrEqual(t, len(plain), 22)
	assert.Len(t, plain, 8+1+1+9, "results, active, workers and the queue")

	runs := c.Runs()
	assert.Same(t, runs, c.Runs())
	assert.Len(t, with(scrape(t, ep), `"plain"`), len(plain)+6+1+1, "results, active and missing Jobs")
	c.Events()
	c.Events()
	assert.Len(t, with(scrape(t, ep), `"plain"`, "events"), 3)
	c.StatusWrites()
	assert.Len(t, with(scrape(t, ep), `"plain"`, "status_writes"), 8)
}

func TestNamesBeyondTheBoundShareOther(t *testing.T) {
	cases := map[string]struct {
		reason string
		name   string
		folded bool
	}{
		"New":      {"A name within the bound gets its own recorder.", "b", false},
		"Known":    {"A known name keeps its recorder.", "a", false},
		"Empty":    {"Prometheus drops an empty label.", "", true},
		"NotUTF8":  {"Prometheus drops a label that is not UTF-8.", "\xff", true},
		"Long":     {"A name longer than any in Kubernetes shares the recorder other.", strings.Repeat("x", 254), true},
		"JustFits": {"The longest name of Kubernetes fits.", strings.Repeat("x", 253), false},
		"Unicode":  {"Any other text is a valid name.", "Läufer \"1\"\n", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, ep := newSet(t, metrics.Options{MaxControllers: 2})
			m.Controller("a")
			c := m.Controller(tc.name)
			assert.Equal(t, tc.folded, c == m.Controller("other"), tc.reason)
			want := map[bool]string{true: "1", false: "0"}[tc.folded]
			assert.Equal(t, want, scrape(t, ep)[`controller_label_overflows_total{label="controller"}`], tc.reason)
		})
	}
	t.Run("Full", func(t *testing.T) {
		m, ep := newSet(t, metrics.Options{MaxControllers: 2})
		m.Controller("other").Runs().JobMissing() // whose name it is takes no place
		m.Controller("a").Runs().JobMissing()
		m.Controller("b").Runs().JobMissing()
		m.Controller("c").Runs().JobMissing()
		m.Controller("d").Runs().JobMissing()
		assert.Equal(t, map[string]string{
			`controller_missing_jobs_total{controller="a"}`:     "1",
			`controller_missing_jobs_total{controller="b"}`:     "1",
			`controller_missing_jobs_total{controller="other"}`: "3",
		}, with(scrape(t, ep), "missing_jobs"), "sums stay right, and all other labels survive")
		assert.Equal(t, "2", scrape(t, ep)[`controller_label_overflows_total{label="controller"}`])
	})
}

func TestStatesAreShownWhenTheyAreKnown(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	states := []string{"worker_limit", "job_ttl", "run_retention", "log_retention", "controller_queue_"}
	for _, s := range states {
		assert.Empty(t, with(scrape(t, ep), s), "unknown")
	}
	c.SetWorkers(3)
	c.Runs().Retention(0, time.Hour, time.Minute)
	got := scrape(t, ep)
	assert.Equal(t, "3", got[`controller_worker_limit{controller="c"}`])
	assert.Equal(t, "0", got[`controller_job_ttl_seconds{controller="c"}`], "0 keeps the Job")
	assert.Equal(t, "3600", got[`controller_run_retention_seconds{controller="c"}`])
	assert.Equal(t, "60", got[`controller_log_retention_seconds{controller="c"}`])
	c.SetWorkers(-1)
	c.Runs().Retention(-1, -1, -1)
	for _, s := range states {
		assert.Empty(t, with(scrape(t, ep), s), "unknown again")
	}
}

func TestRuns(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c").Runs()
	c.Active(3)
	c.Active(-1)
	c.End(t.Context(), -time.Hour, metrics.Success)
	c.End(t.Context(), time.Minute, metrics.Result(99))
	got := scrape(t, ep)
	assert.Equal(t, "2", got[`controller_run_active{controller="c"}`])
	assert.Equal(t, "0", got[`controller_run_duration_seconds_sum{controller="c",result="success"}`], "a negative duration does not reduce a sum")
	assert.Equal(t, "60", got[`controller_run_duration_seconds_sum{controller="c",result="error"}`])
	assert.NotContains(t, got, `controller_runs_total{controller="c",result="requeue"}`, "a run is not queued again")
	c.End(t.Context(), time.Minute, metrics.Requeue)
	assert.Equal(t, "1", scrape(t, ep)[`controller_runs_total{controller="c",result="requeue"}`], "but nothing is lost")
}

func TestEvents(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	options := struct{ OnResult func(result string, n int64) }{m.Controller("c").Events()} // the shape of events.Options
	options.OnResult("emitted", 2)
	options.OnResult("aggregated", 30)
	options.OnResult("dropped", 4)
	options.OnResult("dropped", -5)
	options.OnResult("Emitted", 1)
	options.OnResult("", 1)
	assert.Equal(t, map[string]string{
		`controller_events_total{controller="c",result="emitted"}`:    "2",
		`controller_events_total{controller="c",result="aggregated"}`: "30",
		`controller_events_total{controller="c",result="dropped"}`:    "4",
		`controller_events_total{controller="c",result="other"}`:      "2",
	}, with(scrape(t, ep), "controller_events_total"))
}

func TestStatusWrites(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	writer := struct {
		OnCommit func(result string, took time.Duration)
	}{m.Controller("c").StatusWrites()} // the shape of status.Writer
	words := []string{"unchanged", "written", "gone", "superseded", "replaced", "field_conflict", "conflict", "error"}
	for _, w := range words {
		writer.OnCommit(w, time.Second)
	}
	writer.OnCommit("Written", time.Second)
	writer.OnCommit("", -time.Second)
	got := scrape(t, ep)
	for _, w := range words {
		assert.Equal(t, "1", got[`controller_status_writes_total{controller="c",result="`+w+`"}`], w)
	}
	assert.Equal(t, "2", got[`controller_status_writes_total{controller="c",result="other"}`], "an unknown word counts as other")
	assert.Equal(t, "9", got[`controller_status_write_duration_seconds_count{controller="c"}`], "unchanged commits make no request")
	assert.Equal(t, "8", got[`controller_status_write_duration_seconds_sum{controller="c"}`])
}

// A component without metrics must work.
func TestNilRecordsNothing(t *testing.T) {
	var m *metrics.Metrics
	assert.Nil(t, m.Controller("c"))
	assert.Zero(t, m.MaxSeries(1))
	require.NoError(t, m.Close())
	m.Controller("c").Close()
	exercise(t, m)
	m.ObserveConditions("Pod", nil)()
	m.Controller("c").ObserveQueue(nil)()
}
