// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// scrape returns a scrape in the format that accept asks for; "" is what a
// browser gets.
func scrape(tb testing.TB, h http.Handler, accept string) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// text returns a scrape that must succeed.
func text(tb testing.TB, h http.Handler) string {
	tb.Helper()
	w := scrape(tb, h, "")
	require.Equal(tb, http.StatusOK, w.Code, w.Body.String())
	return w.Body.String()
}

// endpoint is withDefaults, except that a machine may be slow for seconds.
func endpoint(tb testing.TB, o prom.Options, sets int) *prom.Endpoint {
	tb.Helper()
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	return withDefaults(tb, o, sets)
}

// withDefaults is an endpoint with one histogram, one counter of that many
// attribute sets, and one record of each.
func withDefaults(tb testing.TB, o prom.Options, sets int) *prom.Endpoint {
	tb.Helper()
	ep, err := prom.New(o)
	require.NoError(tb, err)
	meter := ep.Meter("test", metric.WithInstrumentationVersion("1"))
	h, err := meter.Float64Histogram("a.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(1, 2))
	require.NoError(tb, err)
	h.Record(tb.Context(), 1.5)
	c, err := meter.Int64Counter("a.thing", metric.WithUnit("{thing}"))
	require.NoError(tb, err)
	for i := range sets {
		c.Add(tb.Context(), 1, metric.WithAttributes(attribute.Int("i", i)))
	}
	return ep
}

func TestNewRefuses(t *testing.T) {
	var none *prometheus.Registry
	cases := map[string]struct {
		reason  string
		options prom.Options
		field   string
	}{
		"Timeout":    {"A scrape always has a limit.", prom.Options{Timeout: -1}, "Timeout"},
		"Nil":        {"A nil gatherer is an error.", prom.Options{Gatherers: []prometheus.Gatherer{prometheus.NewRegistry(), nil}}, "Gatherers[1]"},
		"NilPointer": {"A nil pointer in the interface is an error too.", prom.Options{Gatherers: []prometheus.Gatherer{none}}, "Gatherers[0]"},
		"NoName":     {"An attribute must have a name.", prom.Options{Resource: map[string]string{"": "x"}}, `Resource[""]`},
		"NameNoUTF8": {"Prometheus would drop target_info.", prom.Options{Resource: map[string]string{"\xff": "x"}}, `Resource["\xff"]`},
		"NotUTF8":    {"Prometheus would drop target_info.", prom.Options{Resource: map[string]string{"a": "\xff"}}, `Resource["a"]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ep, err := prom.New(tc.options)
			require.ErrorContains(t, err, "metrics/prom: invalid option: Options.", tc.reason)
			assert.Contains(t, err.Error(), tc.field)
			assert.Nil(t, ep)
		})
	}
}

func TestNew_ReportsEveryOptionThatItRefuses(t *testing.T) {
	_, err := prom.New(prom.Options{
		Timeout: -time.Second, Gatherers: []prometheus.Gatherer{nil}, Readers: []sdkmetric.Reader{nil},
		Resource: map[string]string{"": "x", "a": "\xff"},
	})
	require.EqualError(t, err, `metrics/prom: invalid option: Options.Timeout: -1s is not accepted; want a positive duration, or 0 for 5s
metrics/prom: invalid option: Options.Gatherers[0]: nil is not accepted; want a gatherer
metrics/prom: invalid option: Options.Readers[0]: nil is not accepted; want a reader
metrics/prom: invalid option: Options.Resource[""]: "x" is not accepted; want a name that is not empty, and UTF-8
metrics/prom: invalid option: Options.Resource["a"]: "\xff" is not accepted; want a name that is not empty, and UTF-8`)
}

func TestDefaults(t *testing.T) {
	got := text(t, endpoint(t, prom.Options{}, 2500))
	assert.Contains(t, got, `a_duration_seconds_bucket{le="2"} 1`, "names are translated, series have no labels of the scope")
	assert.Contains(t, got, `a_thing_total{i="1"} 1`)
	overflow := regexp.MustCompile(`a_thing_total\{otel_metric_overflow.*`).FindString(got)
	assert.Equal(t, `a_thing_total{otel_metric_overflow="true"} 501`, overflow, "2000 sets, the SDK's own default")
	assert.Contains(t, got, "\ntarget_info")
	accept := "application/openmetrics-text; version=1.0.0"
	assert.Contains(t, scrape(t, endpoint(t, prom.Options{}, 1), accept).Header().Get("Content-Type"), "text/plain", `le="1" stays le="1"`)
}

func TestOptions(t *testing.T) {
	for _, name := range []string{"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} { // what they say is added to Resource
		t.Setenv(name, "")
	}
	openMetrics := "application/openmetrics-text; version=1.0.0"
	cases := map[string]struct {
		reason  string
		options prom.Options
		accept  string
		want    []string
		not     []string
	}{
		"Resource": {
			"target_info names the process.",
			prom.Options{Resource: map[string]string{"service.name": "agents", "k8s.namespace.name": "ci"}},
			"",
			[]string{`target_info{k8s_namespace_name="ci",service_name="agents"} 1`},
			nil,
		},
		"CardinalityLimit": {
			"Lower is possible.",
			prom.Options{CardinalityLimit: 10},
			"",
			[]string{`a_thing_total{otel_metric_overflow="true"} 2491`},
			nil,
		},
		"NoCardinalityLimit": {"Below zero there is no limit.", prom.Options{CardinalityLimit: -1}, "", []string{`a_thing_total{i="2499"} 1`}, []string{"overflow"}},
		"Exemplars":          {"Exemplars need OpenMetrics.", prom.Options{Exemplars: true}, openMetrics, []string{"# EOF"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := scrape(t, endpoint(t, tc.options, 2500), tc.accept).Body.String()
			for _, want := range tc.want {
				assert.Contains(t, got, want, tc.reason)
			}
			for _, not := range tc.not {
				assert.NotContains(t, got, not, tc.reason)
			}
		})
	}
}

// Without Options.Exemplars a sampled span leaves nothing on the page.
func TestExemplarsAreKeptOnDemandOnly(t *testing.T) {
	span := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
	}))
	for _, wanted := range []bool{false, true} {
		ep := endpoint(t, prom.Options{Exemplars: wanted}, 1)
		h, err := ep.Meter("test").Float64Histogram("b.duration")
		require.NoError(t, err)
		h.Record(span, 1)
		got := scrape(t, ep, "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited").Body.String()
		assert.Equal(t, wanted, strings.Contains(got, "trace_id"))
	}
}

func TestNothingGlobalIsTouched(t *testing.T) {
	provider := otel.GetMeterProvider()
	before, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for range 100 {
		endpoint(t, prom.Options{}, 1)
	}
	after, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	assert.Len(t, after, len(before))
	assert.Same(t, provider, otel.GetMeterProvider())
}

func TestShutdownEndsTheSeries(t *testing.T) {
	also := prometheus.NewRegistry()
	also.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "theirs", Help: "h"}))
	ep := endpoint(t, prom.Options{Gatherers: []prometheus.Gatherer{also}}, 1)
	require.NoError(t, ep.Shutdown(t.Context()))
	require.NoError(t, ep.Shutdown(t.Context()), "a second Shutdown does nothing")
	got := text(t, ep)
	assert.NotContains(t, got, "a_thing_total")
	assert.Contains(t, got, "theirs 0")
}

// Measurements that a reader could not send are lost.
func TestShutdown_ReportsWhatCouldNotBeSent(t *testing.T) {
	unreachable := errors.New("collector unreachable")
	reader := sdkmetric.NewPeriodicReader(unsent{err: unreachable})
	ep := endpoint(t, prom.Options{Readers: []sdkmetric.Reader{reader}}, 1)
	err := ep.Shutdown(t.Context())
	require.ErrorIs(t, err, unreachable)
	require.ErrorContains(t, err, "metrics/prom: shutdown: ")
	require.NoError(t, ep.Shutdown(t.Context()), "a second Shutdown does nothing")
}

// unsent is an exporter that cannot send.
type unsent struct {
	sdkmetric.Exporter
	err error
}

func (unsent) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (unsent) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}
func (u unsent) Export(context.Context, *metricdata.ResourceMetrics) error { return u.err }
func (unsent) Shutdown(context.Context) error                              { return nil }

// An endpoint that is used although New returned an error must not panic.
func TestAnEndpointThatWasNotMade(t *testing.T) {
	for name, ep := range map[string]*prom.Endpoint{"Nil": nil, "Zero": {}} {
		t.Run(name, func(t *testing.T) {
			assert.Nil(t, ep.Meter("library"))
			require.NoError(t, ep.Shutdown(t.Context()))
			w := httptest.NewRecorder()
			ep.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
			assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		})
	}
}
