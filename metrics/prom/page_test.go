// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/metrics/prom"
)

var update = flag.Bool("update", false, "rewrite the golden pages")

// The pages are the same bytes with the lowest and with the newest version of
// OpenTelemetry and client_golang, because the tests run with both. A name, a
// unit or an escape that changes upstream changes dashboards.
//
//req:shows O1
func TestPage_IsTheSameWithEachVersion(t *testing.T) {
	for _, name := range []string{"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
	for name, tc := range map[string]struct {
		reason string
		accept string
	}{
		"text":        {"What a browser and an old Prometheus get.", "text/plain;version=0.0.4"},
		"openmetrics": {"The format that carries exemplars.", "application/openmetrics-text;version=1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // so that the times of exemplars are exact
				got := scrape(t, everyKind(t), tc.accept)
				require.Equal(t, http.StatusOK, got.Code)
				golden := filepath.Join("testdata", name+".golden")
				if *update {
					require.NoError(t, os.WriteFile(golden, got.Body.Bytes(), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				assert.Equal(t, string(want), got.Body.String(), tc.reason)
			})
		})
	}
}

// everyKind is an endpoint with an instrument of each kind, and names, units
// and values that Prometheus writes in another way.
func everyKind(t *testing.T) *prom.Endpoint {
	t.Helper()
	registry := prometheus.NewRegistry()
	other := prometheus.NewCounter(prometheus.CounterOpts{Name: "workqueue_adds_total", Help: "Of another registry."})
	require.NoError(t, registry.Register(other))
	ep, err := prom.New(prom.Options{
		Resource:         map[string]string{"service.name": "agentrun", "k8s.namespace.name": "agents"},
		Exemplars:        true,
		NoProcessMetrics: true,
		CardinalityLimit: 3,
		Gatherers:        []prometheus.Gatherer{registry},
	})
	require.NoError(t, err)
	meter := ep.Meter("example.com/runs", metric.WithInstrumentationVersion("v1.2.3"),
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
	return ep
}
