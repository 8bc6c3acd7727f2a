// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// counter is a registry with one counter of that name at that value.
func counter(t *testing.T, name string, value float64) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: "theirs"})
	c.Add(value)
	require.NoError(t, r.Register(c))
	return r
}

// failing is a collector that reports an error.
type failing struct{}

func (f failing) Describe(chan<- *prometheus.Desc) {}

func (f failing) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(errBroken), errBroken)
}

var errBroken = errors.New("broken")

// A failing collector never costs the whole scrape: the other metrics are
// served.
func TestFailuresCostTheirOwnMetricsOnly(t *testing.T) {
	registry := func(c prometheus.Collector) *prometheus.Registry {
		r := prometheus.NewRegistry()
		require.NoError(t, r.Register(c))
		return r
	}
	broken := func(c prometheus.Collector) *prometheus.Registry {
		r := counter(t, "next_to_it", 1)
		require.NoError(t, r.Register(c))
		return r
	}
	cases := map[string]struct {
		reason string
		also   prometheus.Gatherer
		want   []string
		quiet  bool
	}{
		"Healthy":        {"Without a failure there is no error.", counter(t, "theirs_total", 7), []string{"theirs_total 7"}, true},
		"OtherHelp":      {"Of two equal names the endpoint's metric is served.", counter(t, "a_thing_total", 99), nil, false},
		"OtherType":      {"A counter under the name of the endpoint's histogram is dropped.", counter(t, "a_duration_seconds", 1), []string{"a_duration_seconds_count 1"}, false},
		"CollectorFails": {"An error of one collector keeps the others.", broken(failing{}), []string{"next_to_it 1"}, false},
		"GathererFails":  {"A gatherer that returns only an error costs its own metrics.", registry(failing{}), nil, false},
		"GathererPanics": {"A gatherer that panics costs its own metrics.", struct{ prometheus.Gatherer }{}, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var told []error
			ep := endpoint(t, prom.Options{
				Gatherers: []prometheus.Gatherer{tc.also, counter(t, "last_total", 3)},
				OnError:   func(err error) { told = append(told, err) },
			}, 1)
			got := text(t, ep)
			for _, want := range append(tc.want, `a_thing_total{i="0"} 1`, "last_total 3", "target_info") {
				assert.Contains(t, got, want, tc.reason)
			}
			if tc.quiet {
				assert.Empty(t, told)
				return
			}
			assert.NotEmpty(t, told, "OnError reports the missing metrics")
			assert.Contains(t, text(t, ep), `promhttp_metric_handler_errors_total{cause="gathering"} 1`, "and counted")
		})
	}
}

// Of two equal series of other libraries the endpoint serves the earlier one
// and reports the other.
func TestEqualSeriesOfOthers(t *testing.T) {
	var told []error
	ep := endpoint(t, prom.Options{
		Gatherers: []prometheus.Gatherer{counter(t, "theirs_total", 7), counter(t, "theirs_total", 8)},
		OnError:   func(err error) { told = append(told, err) },
	}, 1)
	got := text(t, ep)
	assert.Contains(t, got, "theirs_total 7")
	assert.NotContains(t, got, "theirs_total 8")
	assert.NotEmpty(t, told)
}

// Two libraries use one name for different things on this endpoint.
func TestConflictOfTwoScopes(t *testing.T) {
	ep := endpoint(t, prom.Options{}, 1)
	g, err := ep.Meter("other").Float64Gauge("a.duration.seconds") // becomes the name of the histogram
	require.NoError(t, err)
	g.Record(t.Context(), 1)
	assert.Contains(t, text(t, ep), `a_thing_total{i="0"} 1`)
}

// A callback or a gatherer that hangs costs the scrape. Records go on. The next
// scrape after it has returned has everything, once.
func TestScrape_AnswersAfterTheTimeout(t *testing.T) {
	for _, name := range []string{"Callback", "Gatherer"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				wait := func() {}
				registry := prometheus.NewRegistry()
				require.NoError(t, registry.Register(slowly(func() {
					if name == "Gatherer" {
						wait()
					}
				})))
				ep := withDefaults(t, prom.Options{Gatherers: []prometheus.Gatherer{registry}}, 1)
				counter, err := ep.Meter("x").Int64Counter("records")
				require.NoError(t, err)
				observed(t, ep, "before", 100, fine)
				observed(t, ep, "theirs", 7, func() error {
					if name == "Callback" {
						wait()
					}
					return nil
				})
				assert.Contains(t, text(t, ep), "\nbefore_total 100\n")

				wait = func() { <-release }
				start := time.Now()
				w := scrape(t, ep, "")
				assert.Equal(t, http.StatusServiceUnavailable, w.Code)
				assert.Contains(t, w.Body.String(), "timeout of 5s")
				assert.Equal(t, 5*time.Second, time.Since(start))
				counter.Add(t.Context(), 1)

				wait = func() {}
				close(release)
				synctest.Wait()
				got := text(t, ep)
				for _, series := range []string{"before_total 100", "theirs_total 7", "records_total 1"} {
					assert.Contains(t, got, "\n"+series+"\n")
				}
			})
		})
	}
}

// Three scrapes that hang are the last ones to wait.
func TestScrapesInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := prometheus.NewRegistry()
		require.NoError(t, slow.Register(slowly(func() { <-release })))
		ep := withDefaults(t, prom.Options{Gatherers: []prometheus.Gatherer{slow}}, 1)
		start := time.Now()
		for range 4 {
			assert.Equal(t, http.StatusServiceUnavailable, scrape(t, ep, "").Code)
		}
		assert.Equal(t, 15*time.Second, time.Since(start))
		close(release)
		synctest.Wait()
		text(t, ep)
	})
}

// slowly is a collector without metrics that takes its time.
type slowly func()

func (s slowly) Describe(chan<- *prometheus.Desc) {}
func (s slowly) Collect(chan<- prometheus.Metric) { s() }
