// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/proompteng/controllerkit/metrics/prom"
)

var update = flag.Bool("update", false, "rewrite the golden pages")

// accepts are the Accept headers of clients.
var accepts = map[string]string{
	"Browser":              "",
	"Anything":             "*/*",
	"Text":                 "text/plain;version=0.0.4",
	"OldOpenMetrics":       "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	"OpenMetrics":          "application/openmetrics-text;version=1.0.0",
	"PrometheusWithUTF8":   "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,*/*;q=0.1",
	"PrometheusOfProtobuf": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.3",
}

// TestPage_IsThatOfOpenTelemetrysExporter: the endpoint adds the metrics of the
// process, and nothing else.
//
//req:shows O1
func TestPage_IsThatOfOpenTelemetrysExporter(t *testing.T) {
	for _, name := range []string{"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
	for _, exemplars := range []bool{false, true} {
		for name, accept := range accepts {
			t.Run(fmt.Sprint(name, "/", exemplars), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // so that the times of exemplars are exact
					ours := scrape(t, everyKind(t, exemplars), accept)
					theirs := scrape(t, official(t, exemplars), accept)
					assert.Equal(t, http.StatusOK, ours.Code)
					assert.Equal(t, theirs.Header().Get("Content-Type"), ours.Header().Get("Content-Type"))
					assert.Equal(t, provided(t, theirs), provided(t, ours))
				})
			})
		}
	}
}

// The pages are the same with the lowest and with the newest version of
// OpenTelemetry and client_golang, because the tests run with both. A name, a
// unit or an escape that changes upstream changes dashboards.
//
//req:shows O1
func TestPage_IsTheSameWithEachVersion(t *testing.T) {
	for _, name := range []string{"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
	for name, accept := range map[string]string{"text": accepts["Text"], "openmetrics": accepts["OpenMetrics"]} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := provided(t, scrape(t, everyKind(t, true), accept))
				golden := filepath.Join("testdata", name+".golden")
				if *update {
					require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				assert.Equal(t, string(want), got)
			})
		})
	}
}

// provided is the page without the metrics of the process, which have other
// values at each scrape. The exporter does not sort the labels of an exemplar.
func provided(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	page := w.Body.String()
	if strings.Contains(w.Header().Get("Content-Type"), "protobuf") {
		page = decoded(t, w.Body)
	}
	process := regexp.MustCompile(`(?m)^(# (HELP|TYPE|UNIT) )?(go|process)_.*\n`)
	exemplars := regexp.MustCompile(`\{(trace_id="\w+"),(span_id="\w+")\}`)
	return exemplars.ReplaceAllString(process.ReplaceAllString(page, ""), "{$2,$1}")
}

// decoded is a page of protobuf, one metric a line.
func decoded(t *testing.T, body io.Reader) string {
	t.Helper()
	var page strings.Builder
	reader := bufio.NewReader(body)
	for {
		var f dto.MetricFamily
		err := protodelim.UnmarshalFrom(reader, &f)
		if errors.Is(err, io.EOF) {
			return page.String()
		}
		require.NoError(t, err)
		for _, m := range f.Metric {
			exemplars := []*dto.Exemplar{m.GetCounter().GetExemplar()}
			for _, b := range m.GetHistogram().GetBucket() {
				exemplars = append(exemplars, b.GetExemplar())
			}
			for _, e := range exemplars {
				slices.SortFunc(e.GetLabel(), func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
			}
			binary, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			require.NoError(t, err)
			fmt.Fprintf(&page, "%s %s %q %q\n", f.GetName(), f.GetType(), f.GetHelp(), binary)
		}
	}
}

// official is a page without this package.
func official(t *testing.T, exemplars bool) http.Handler {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	require.NoError(t, err)
	filter := exemplar.AlwaysOffFilter
	if exemplars {
		filter = exemplar.TraceBasedFilter
	}
	options := []sdkmetric.Option{
		sdkmetric.WithReader(exporter), sdkmetric.WithCardinalityLimit(3), sdkmetric.WithExemplarFilter(filter),
		sdkmetric.WithResource(resource.NewSchemaless(attribute.String("service.name", "agentrun"), attribute.String("k8s.namespace.name", "agents"))),
	}
	record(t, sdkmetric.NewMeterProvider(options...))
	return promhttp.HandlerFor(prometheus.Gatherers{registry, others(t)}, promhttp.HandlerOpts{EnableOpenMetrics: exemplars, Registry: registry})
}

// others is another registry.
func others(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	other := prometheus.NewCounter(prometheus.CounterOpts{Name: "workqueue_adds_total", Help: "Of another registry."})
	require.NoError(t, registry.Register(other))
	return registry
}

// everyKind is an endpoint on which record recorded.
func everyKind(t *testing.T, exemplars bool) *prom.Endpoint {
	t.Helper()
	ep, err := prom.New(prom.Options{
		Resource:         map[string]string{"service.name": "agentrun", "k8s.namespace.name": "agents"},
		Exemplars:        exemplars,
		CardinalityLimit: 3,
		Gatherers:        []prometheus.Gatherer{others(t)},
	})
	require.NoError(t, err)
	record(t, ep)
	return ep
}

// record uses an instrument of each kind, and names, units and values that
// Prometheus writes in another way.
func record(t *testing.T, provider metric.MeterProvider) {
	t.Helper()
	meter := provider.Meter("example.com/runs", metric.WithInstrumentationVersion("v1.2.3"),
		metric.WithInstrumentationAttributes(attribute.String("a.b", "c")))
	ctx := sampled(t.Context(), 7)
	about := metric.WithDescription("About \"it\",\nwith \\.")

	runs, err := meter.Int64Counter("runs.ended", metric.WithUnit("{run}"), about)
	require.NoError(t, err)
	for _, value := range []string{"a\"b\\c\nd", "Läufer", "third", "fourth"} {
		runs.Add(ctx, 3, metric.WithAttributes(attribute.String("a.label", value), attribute.Bool("1st", true)))
	}
	sent, err := meter.Float64Counter("bytes/sent", metric.WithUnit("By"))
	require.NoError(t, err)
	sent.Add(ctx, 1e21)
	active, err := meter.Int64UpDownCounter("active")
	require.NoError(t, err)
	active.Add(ctx, -2)
	share, err := meter.Float64Gauge("share", metric.WithUnit("1"))
	require.NoError(t, err)
	share.Record(ctx, .25, metric.WithAttributes(attribute.StringSlice("list", []string{"p", "q"})))
	_, err = meter.Int64ObservableGauge("oldest", metric.WithUnit("ms"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(1500)
			return nil
		}))
	require.NoError(t, err)
	duration, err := meter.Float64Histogram("reconcile.duration", metric.WithUnit("s"), about,
		metric.WithExplicitBucketBoundaries(1e-05, .1, 1, 1e06))
	require.NoError(t, err)
	duration.Record(ctx, .05)
	duration.Record(t.Context(), 2e06)
}
