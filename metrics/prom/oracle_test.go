// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/protobuf/proto"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// FuzzAgainstOpenTelemetrysExporter records any values through any instruments.
// The endpoint must serve the same metrics as OpenTelemetry's exporter. Both
// read the same provider.
func FuzzAgainstOpenTelemetrysExporter(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, "a.label", "value")
	}
	f.Add(uint64(1), "l\xff", "\xff\xfe")
	f.Add(uint64(2), "__name__", "a\"b\\c\nd")
	f.Add(uint64(3), "", "é\x00")
	f.Add(uint64(4), "le", "1")
	f.Fuzz(func(t *testing.T, seed uint64, label, value string) {
		newDifferential(t, rand.New(rand.NewPCG(seed, 7)), label, value).compare(t)
	})
}

// differential is an endpoint and an exporter that read one provider.
type differential struct {
	random   *rand.Rand
	labels   []string
	values   []string
	endpoint *prom.Endpoint
	oracle   *prometheus.Registry
	ends     []func()
}

func newDifferential(t *testing.T, random *rand.Rand, label, value string) *differential {
	t.Helper()
	d := &differential{random: random, oracle: prometheus.NewRegistry()}
	if label == "le" {
		label = "x" // the exporter serves a page that Prometheus refuses
	}
	d.labels = []string{"a", "b.c", "b_c", "1st", "other label", "controller", label}
	d.values = []string{"", "x", "a\"b\\c\nd", "Läufer", strings.Repeat("v", 300), value}
	o := prom.Options{
		NoProcessMetrics: true, Exemplars: random.IntN(2) == 0,
		NativeHistograms: random.IntN(3) == 0, CardinalityLimit: []int{0, 3, -1}[random.IntN(3)],
		Resource: map[string]string{"service.name": d.pick(d.values)},
	}
	for k, v := range o.Resource {
		if !utf8Valid(v) {
			o.Resource[k] = "x"
		}
	}
	opts := []otelprom.Option{otelprom.WithRegisterer(d.oracle), otelprom.WithTranslationStrategy("UnderscoreEscapingWithSuffixes")}
	opts = append(opts, otelprom.WithAggregationSelector(prom.Aggregation(o)))
	opts = append(opts, otelprom.WithoutScopeInfo())
	exporter, err := otelprom.New(opts...)
	require.NoError(t, err)
	o.Readers = []sdkmetric.Reader{sdkmetric.NewManualReader()}
	d.endpoint = prom.NewOver(o, exporter.Reader)
	return d
}

func utf8Valid(s string) bool { return strings.ToValidUTF8(s, "") == s }

func (d *differential) pick(of []string) string { return of[d.random.IntN(len(of))] }

func (d *differential) number() float64 {
	return []float64{0, 1, -1, .3, 1e9, -1e-9, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 4711}[d.random.IntN(11)]
}

func (d *differential) set() metric.MeasurementOption {
	var kv []attribute.KeyValue
	for range d.random.IntN(4) {
		k := d.pick(d.labels)
		if k == "b_c" { // alone it is one label with b.c, and one of two equal series is served
			kv = append(kv, attribute.String("b.c", d.pick(d.values)))
		}
		kv = append(kv, []attribute.KeyValue{
			attribute.String(k, d.pick(d.values)), attribute.Bool(k, true), attribute.Int(k, -3), attribute.Float64(k, .5),
			attribute.StringSlice(k, []string{"p", "q"}),
		}[d.random.IntN(5)])
	}
	return metric.WithAttributes(kv...)
}

func (d *differential) context(t *testing.T) context.Context {
	t.Helper()
	if d.random.IntN(2) == 0 {
		return sampled(t.Context(), byte(d.random.IntN(255)+1))
	}
	return t.Context()
}

// record makes an instrument and records on it. No two instruments have one
// name in Prometheus, because which of them comes first is up to the SDK.
func (d *differential) record(t *testing.T) {
	t.Helper()
	scope, version, of := d.random.IntN(3), d.random.IntN(2), d.random.IntN(7)
	meter := d.endpoint.Meter(fmt.Sprint("scope", scope), metric.WithInstrumentationVersion(fmt.Sprint(version)),
		metric.WithInstrumentationAttributes(attribute.String("scope attribute", "v")))
	unit := metric.WithUnit([]string{"", "s", "1", "By", "{item}", "ms/s", "%"}[of])
	name := func(kind string) string {
		return fmt.Sprintf("%s.%d_%d_%d%s", kind, scope, version, of, []string{".a", "_b", ".seconds.total", "/x-y", ".ratio"}[d.random.IntN(5)])
	}
	about := metric.WithDescription("About \"it\",\nwith \\.")
	switch d.random.IntN(7) {
	case 0:
		c, err := meter.Int64Counter(name("int.counter"), unit, about)
		require.NoError(t, err)
		c.Add(d.context(t), d.random.Int64N(1e6), d.set())
	case 1:
		c, err := meter.Float64Counter(name("float.counter"), unit, about)
		require.NoError(t, err)
		c.Add(d.context(t), math.Abs(d.number()), d.set())
	case 2:
		c, err := meter.Int64UpDownCounter(name("updown"), unit, about)
		require.NoError(t, err)
		c.Add(d.context(t), -d.random.Int64N(1e6), d.set())
	case 3:
		g, err := meter.Float64Gauge(name("gauge"), unit, about)
		require.NoError(t, err)
		g.Record(d.context(t), d.number(), d.set())
	case 4:
		h, err := meter.Float64Histogram(name("float.histogram"), unit, about, metric.WithExplicitBucketBoundaries(-1, 0, .5, 2, 1e6))
		require.NoError(t, err)
		for range d.random.IntN(9) {
			h.Record(d.context(t), d.number(), d.set())
		}
	case 5:
		h, err := meter.Int64Histogram(name("int.histogram"), unit, about)
		require.NoError(t, err)
		for range d.random.IntN(9) {
			h.Record(d.context(t), d.random.Int64N(1e4), d.set())
		}
	case 6:
		value, set := d.number(), d.set()
		g, err := meter.Float64ObservableGauge(name("observed"), unit, about)
		require.NoError(t, err)
		r, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
			o.ObserveFloat64(g, value, set)
			return nil
		}, g)
		require.NoError(t, err)
		d.ends = append(d.ends, func() { require.NoError(t, r.Unregister()) })
	}
}

func (d *differential) compare(t *testing.T) {
	t.Helper()
	m, err := metrics.New(d.endpoint, metrics.Options{MaxControllers: 2})
	require.NoError(t, err)
	for range 5 { // series come and go, and the cache must be right each time
		for range d.random.IntN(12) {
			d.record(t)
		}
		c := m.Controller(d.pick(d.values))
		c.Begin().End(d.context(t), nil)
		if d.random.IntN(2) == 0 {
			c.Close()
		}
		if len(d.ends) > 0 && d.random.IntN(2) == 0 {
			d.ends[0]()
			d.ends = d.ends[1:]
		}
		want, _ := d.oracle.Gather()
		got := gathered(t, d.endpoint)
		if d.random.IntN(2) == 0 { // the second reading must not depend on the first
			got = gathered(t, d.endpoint)
		}
		require.Equal(t, canonical(want), canonical(got))
		page, _ := prom.Gather(d.endpoint)
		page = slices.DeleteFunc(page, func(f *dto.MetricFamily) bool { return strings.HasPrefix(f.GetName(), "promhttp_") })
		require.Equal(t, canonical(want), canonical(page), "as a page and not as a collector")
	}
	require.NoError(t, d.endpoint.Shutdown(context.WithoutCancel(t.Context())))
	want, err := d.oracle.Gather()
	require.NoError(t, err)
	assert.Equal(t, canonical(want), canonical(gathered(t, d.endpoint)))
}

// gathered registers the endpoint as a collector. A metric that cannot be
// served is an error of the oracle's registry and a call of OnError here.
func gathered(t *testing.T, ep *prom.Endpoint) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewRegistry()
	require.NoError(t, r.Register(ep))
	got, _ := r.Gather() // two scopes may have the same series: both registries return an error
	return got
}

// canonical is text that is the same for the same families: names, types, help,
// labels, values, buckets and exemplars.
func canonical(families []*dto.MetricFamily) []string {
	var all []string
	for _, f := range families {
		head := fmt.Sprintf("%s %s %q", f.GetName(), f.GetType(), f.GetHelp())
		all = append(all, head)
		for _, m := range f.GetMetric() {
			exemplars := append(m.GetHistogram().GetExemplars(), m.GetCounter().GetExemplar())
			for _, b := range m.GetHistogram().GetBucket() {
				exemplars = append(exemplars, b.GetExemplar())
			}
			for _, e := range exemplars { // their labels come out of a map
				slices.SortFunc(e.GetLabel(), func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
			}
			all = append(all, f.GetName()+" "+text1(m))
		}
	}
	slices.Sort(all)
	return all
}

func text1(m proto.Message) string {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return fmt.Sprintf("%q", b)
}
