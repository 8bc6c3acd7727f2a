// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Collector converts the data of the SDK's reader. It makes a descriptor and
// label pairs once for each series and not at each collection. It is not safe
// for concurrent use. Make it with [New].
type Collector struct {
	reader     *sdkmetric.ManualReader
	namer      otlptranslator.MetricNamer
	labelNamer otlptranslator.LabelNamer

	turn        uint64 // counts collections
	data        metricdata.ResourceMetrics
	info        *instrument // target_info
	families    map[string]*family
	instruments map[stream]*instrument
}

// family is the metric family that the first instrument of a name defined.
type family struct {
	name, help string
	kind       dto.MetricType
	places     map[string]*place // by labels
	turn       uint64            // of samples
	samples    []*sample
}

// place identifies one series of a family. Two instruments, or two sets of
// attributes, can become one series. The first is served.
type place struct {
	labels string
	turn   uint64 // of the last collection in which it was taken
}

const (
	isCounter   = dto.MetricType_COUNTER
	isGauge     = dto.MetricType_GAUGE
	isHistogram = dto.MetricType_HISTOGRAM
)

// stream is the identity of an instrument.
type stream struct {
	scope             instrumentation.Scope
	name, unit, about string
	kind              dto.MetricType
}

// instrument is what one instrument is in Prometheus.
type instrument struct {
	family *family
	err    error // it cannot be served
	series map[attribute.Distinct]*series
	turn   uint64 // of the last collection that had it
	points int    // of that collection
}

// series is one set of labels of an instrument.
type series struct {
	desc   *prometheus.Desc
	values []string
	labels []*dto.LabelPair
	bounds []float64
	place  *place
	err    error  // it cannot be served
	turn   uint64 // of the last collection that had it
}

// Page is the result of one collection, with its errors.
type Page struct {
	Families []*dto.MetricFamily
	Metrics  []prometheus.Metric // the same
	Errs     []error
}

// New returns a Collector of the metrics of reader, without the labels of the
// instrumentation scopes.
func New(reader *sdkmetric.ManualReader) *Collector {
	return &Collector{
		reader: reader,
		// Pinned, because the exporter's default has changed between releases
		// and dashboards depend on the names.
		namer:       otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes),
		families:    map[string]*family{},
		instruments: map[stream]*instrument{},
	}
}

// Series is how many series the Collector keeps.
func (c *Collector) Series() (n int) {
	for _, i := range c.instruments {
		n += len(i.series)
	}
	return n
}

// Read collects once. An error means that the page has no metrics.
func (c *Collector) Read(ctx context.Context) (Page, error) {
	var p Page
	err := c.reader.Collect(ctx, &c.data)
	if errors.Is(err, sdkmetric.ErrReaderShutdown) {
		return Page{}, nil
	}
	if err != nil {
		return Page{}, err // not of a callback
	}
	c.turn++
	c.targetInfo(&p)
	for _, scope := range c.data.ScopeMetrics {
		for _, m := range scope.Metrics {
			c.convert(&p, scope.Scope, m)
		}
	}
	for _, i := range c.instruments {
		c.forget(i)
	}
	for _, f := range c.families {
		if f.turn == c.turn {
			p.Families = append(p.Families, f.sorted())
		}
	}
	slices.SortFunc(p.Families, func(a, b *dto.MetricFamily) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return p, nil
}

// add puts a sample into the page.
func (c *Collector) add(p *Page, f *family, s *sample) {
	if f.turn != c.turn {
		f.turn = c.turn
		f.samples = f.samples[:0]
	}
	f.samples = append(f.samples, s)
	p.Metrics = append(p.Metrics, s)
}

// sorted is the family with its samples in the order of their labels.
func (f *family) sorted() *dto.MetricFamily {
	slices.SortFunc(f.samples, func(a, b *sample) int {
		return strings.Compare(a.series.place.labels, b.series.place.labels)
	})
	out := &dto.MetricFamily{
		Name:   &f.name,
		Help:   &f.help,
		Type:   f.kind.Enum(),
		Metric: make([]*dto.Metric, len(f.samples)),
	}
	for n, s := range f.samples {
		out.Metric[n] = &s.metric
	}
	clear(f.samples)
	return out
}

// TargetHelp is the help text of OpenTelemetry's exporter.
const TargetHelp = "Target metadata"

// targetInfo adds the resource as labels of a constant.
func (c *Collector) targetInfo(p *Page) {
	if c.info == nil {
		f := &family{
			name:   otlptranslator.TargetInfoMetricName,
			help:   TargetHelp,
			kind:   isGauge,
			places: map[string]*place{},
		}
		c.families[f.name] = f
		c.info = &instrument{family: f, series: map[attribute.Distinct]*series{}}
	}
	s := c.seriesOf(p, c.info, *c.data.Resource.Set())
	if s != nil {
		one := 1.0
		m := &sample{series: s}
		m.metric.Label = s.labels
		m.metric.Gauge = &dto.Gauge{Value: &one}
		c.add(p, c.info.family, m)
	}
}

// convert adds the metrics of one instrument to the page.
func (c *Collector) convert(p *Page, scope instrumentation.Scope, m metricdata.Metrics) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		k := sumKind(data.IsMonotonic)
		numbers(c, p, c.instrumentOf(scope, m, k), k, data.DataPoints)
	case metricdata.Sum[float64]:
		k := sumKind(data.IsMonotonic)
		numbers(c, p, c.instrumentOf(scope, m, k), k, data.DataPoints)
	case metricdata.Gauge[int64]:
		numbers(c, p, c.instrumentOf(scope, m, isGauge), isGauge, data.DataPoints)
	case metricdata.Gauge[float64]:
		numbers(c, p, c.instrumentOf(scope, m, isGauge), isGauge, data.DataPoints)
	case metricdata.Histogram[int64]:
		histograms(c, p, c.instrumentOf(scope, m, isHistogram), data.DataPoints)
	case metricdata.Histogram[float64]:
		histograms(c, p, c.instrumentOf(scope, m, isHistogram), data.DataPoints)
	case metricdata.ExponentialHistogram[int64]:
		natives(c, p, c.instrumentOf(scope, m, isHistogram), data.DataPoints)
	case metricdata.ExponentialHistogram[float64]:
		natives(c, p, c.instrumentOf(scope, m, isHistogram), data.DataPoints)
	}
}

func sumKind(monotonic bool) dto.MetricType {
	if monotonic {
		return isCounter
	}
	return isGauge
}

// instrumentOf returns what an instrument is in Prometheus.
func (c *Collector) instrumentOf(
	scope instrumentation.Scope,
	m metricdata.Metrics,
	k dto.MetricType,
) *instrument {
	id := stream{scope, m.Name, m.Unit, m.Description, k}
	i, ok := c.instruments[id]
	if !ok {
		i = c.newInstrument(scope, m, k)
		c.instruments[id] = i
	}
	return i
}

func (c *Collector) newInstrument(
	scope instrumentation.Scope,
	m metricdata.Metrics,
	k dto.MetricType,
) *instrument {
	i := &instrument{series: map[attribute.Distinct]*series{}}
	name, err := c.namer.Build(otlptranslator.Metric{
		Name: m.Name,
		Unit: m.Unit,
		Type: namingType(m),
	})
	if err != nil {
		i.err = fmt.Errorf("metrics/prom: the instrument %q: %w", m.Name, err)
		return i
	}
	i.family = c.families[name]
	if i.family == nil {
		other := c.collides(name, k)
		if other != "" {
			i.err = fmt.Errorf("metrics/prom: the instrument %q of %q: %s collides with %s",
				m.Name, scope.Name, name, other)
			return i
		}
		i.family = &family{name: name, help: m.Description, kind: k, places: map[string]*place{}}
		c.families[name] = i.family
	}
	if i.family.kind != k {
		i.err = fmt.Errorf("metrics/prom: the instrument %q of %q is a %s, but %s is a %s "+
			"already", m.Name, scope.Name, k, name, i.family.kind)
	}
	return i
}

// collides names the family that has the series of a new one, because a
// histogram has three kinds of series.
func (c *Collector) collides(name string, k dto.MetricType) string {
	for _, suffix := range []string{"_count", "_sum", "_bucket"} {
		if k == isHistogram && c.families[name+suffix] != nil {
			return name + suffix
		}
		base, ok := strings.CutSuffix(name, suffix)
		if !ok {
			continue
		}
		other := c.families[base]
		if other != nil && other.kind == isHistogram {
			return base
		}
	}
	return ""
}

// namingType decides which suffixes a name gets.
func namingType(m metricdata.Metrics) otlptranslator.MetricType {
	monotonic := otlptranslator.MetricType(otlptranslator.MetricTypeMonotonicCounter)
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		if data.IsMonotonic {
			return monotonic
		}
		return otlptranslator.MetricTypeNonMonotonicCounter
	case metricdata.Sum[float64]:
		if data.IsMonotonic {
			return monotonic
		}
		return otlptranslator.MetricTypeNonMonotonicCounter
	case metricdata.Gauge[int64], metricdata.Gauge[float64]:
		return otlptranslator.MetricTypeGauge
	}
	return otlptranslator.MetricTypeHistogram
}
