// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

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
			var reported []error
			ep := endpoint(t, prom.Options{
				Gatherers: []prometheus.Gatherer{tc.also, counter(t, "last_total", 3)},
				OnError:   func(err error) { reported = append(reported, err) },
			}, 1)
			got := text(t, ep)
			for _, want := range append(tc.want, `a_thing_total{i="0"} 1`, "last_total 3", "target_info") {
				assert.Contains(t, got, want, tc.reason)
			}
			if tc.quiet {
				assert.Empty(t, reported)
				return
			}
			require.NotEmpty(t, reported, "OnError reports the missing metrics")
			require.ErrorContains(t, reported[0], "metrics/prom: collect: ", "an error begins with the path of its package")
			assert.Contains(t, text(t, ep), `promhttp_metric_handler_errors_total{cause="gathering"} 1`, "and counted")
		})
	}
	ep := endpoint(t, prom.Options{Gatherers: []prometheus.Gatherer{registry(failing{})}}, 1)
	assert.Contains(t, text(t, ep), `a_thing_total{i="0"} 1`, "without OnError too")
}

// Of two equal series of other libraries the endpoint serves the earlier one
// and reports the other. Metrics of the process that a gatherer has are served
// once.
func TestEqualSeriesOfOthers(t *testing.T) {
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector())
	var reported []error
	ep := endpoint(t, prom.Options{
		Gatherers: []prometheus.Gatherer{counter(t, "theirs_total", 7), counter(t, "theirs_total", 8), process},
		OnError:   func(err error) { reported = append(reported, err) },
	}, 1)
	got := text(t, ep)
	assert.Contains(t, got, "theirs_total 7")
	assert.NotContains(t, got, "theirs_total 8")
	assert.Equal(t, 1, strings.Count(got, "# TYPE go_goroutines "))
	assert.NotEmpty(t, reported)
}

// Two meters have one series, or one name for different things. One of them is
// served, by an order that the SDK does not promise, and the scrape reports the
// other.
func TestScrape_ReportsWhatTwoMetersBothHave(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		record func(*testing.T, metric.Meter)
		want   string
		says   string
	}{
		"Series": {
			"Of two equal series one is served.", func(t *testing.T, m metric.Meter) {
				t.Helper()
				c, err := m.Int64Counter("a.thing", metric.WithUnit("{thing}"))
				require.NoError(t, err)
				c.Add(t.Context(), 1, metric.WithAttributes(attribute.Int("i", 0)))
			}, "a_thing_total", "was collected before with the same name and label values",
		},
		"Kind": {
			"A gauge under the name of the histogram makes one of them disappear.", func(t *testing.T, m metric.Meter) {
				t.Helper()
				g, err := m.Float64Gauge("a.duration.seconds") // becomes the name of the histogram
				require.NoError(t, err)
				g.Record(t.Context(), 1)
			}, "a_duration_seconds", "invalid",
		},
		"Suffix": {
			"A gauge under the name of the histogram's count collides with it.", func(t *testing.T, m metric.Meter) {
				t.Helper()
				g, err := m.Float64Gauge("a.duration.seconds.count")
				require.NoError(t, err)
				g.Record(t.Context(), 1)
			}, "a_duration_seconds(_count)?", "collides with",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r reported
			ep := endpoint(t, prom.Options{OnError: r.add}, 2)
			tc.record(t, ep.Meter("other"))
			got := text(t, ep)
			assert.Contains(t, got, `a_thing_total{i="1"} 1`)
			served := regexp.MustCompile("(?m)^# TYPE " + tc.want + " ")
			assert.Len(t, served.FindAllString(got, -1), 1, tc.reason)
			require.Len(t, r.errs, 1, tc.reason)
			require.ErrorContains(t, r.errs[0], tc.says)
			require.ErrorContains(t, r.errs[0], "metrics/prom: collect: ")
		})
	}
}

// A value or a name that is not UTF-8, or no name, costs the series.
func TestScrape_LeavesOutWhatIsNotUTF8(t *testing.T) {
	for name, tc := range map[string]struct {
		bad  attribute.KeyValue
		says string
	}{
		"Value": {attribute.String("a", "\xff"), `label value "\xff" is not valid UTF-8`},
		"Name":  {attribute.String("\xff\xfe", "a"), "invalid name"},
		"Empty": {attribute.String("", "a"), "label name is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			var r reported
			ep := endpoint(t, prom.Options{OnError: r.add}, 1)
			c, err := ep.Meter("x").Int64Counter("c")
			require.NoError(t, err)
			c.Add(t.Context(), 1, metric.WithAttributes(tc.bad))
			c.Add(t.Context(), 1, metric.WithAttributes(attribute.String("a", "good")))
			got := text(t, ep)
			assert.Contains(t, got, `a_thing_total{i="0"} 1`)
			assert.Contains(t, got, `c_total{a="good"} 1`)
			require.Len(t, r.errs, 1)
			require.ErrorContains(t, r.errs[0], tc.says)
		})
	}
}

// Instruments and callbacks come and go while scrapes run.
func TestScrape_WhileInstrumentsAreMade(t *testing.T) {
	ep := endpoint(t, prom.Options{OnError: func(err error) { assert.NoError(t, err) }}, 1)
	var all sync.WaitGroup
	for g := range 2 {
		all.Go(func() {
			for range 50 {
				assert.Contains(t, text(t, ep), `a_thing_total{i="0"} 1`)
			}
		})
		all.Go(func() {
			for n := range 50 {
				registered := observed(t, ep, fmt.Sprintf("new.%d.%d", g, n), 1, fine)
				if n%2 == 0 {
					assert.NoError(t, registered.Unregister())
				}
			}
		})
	}
	all.Wait()
	got := text(t, ep)
	assert.Contains(t, got, "\nnew_0_49_total 1\n")
	assert.NotContains(t, got, "new_0_48_total")
}

// A scrape that a callback holds up does not hold up Shutdown without
// Options.Readers. The scrape after it is empty.
func TestShutdown_DoesNotWaitForACallbackThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ep := withDefaults(t, prom.Options{}, 1)
		observed(t, ep, "theirs", 7, func() error { <-release; return nil })
		assert.Equal(t, http.StatusServiceUnavailable, scrape(t, ep, "").Code)
		require.NoError(t, ep.Shutdown(t.Context()))
		got := text(t, ep)
		assert.NotContains(t, got, "a_thing_total")
		assert.Contains(t, got, "\nprocess_start_time_seconds ")
		close(release)
	})
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

				close(release)
				synctest.Wait()
				wait = func() {}
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
