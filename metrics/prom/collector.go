// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

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

	"github.com/proompteng/controllerkit/internal/isolate"
)

// collector converts the data of the SDK's reader into Prometheus metrics, with
// the same output as OpenTelemetry's exporter. A fuzz test compares the two
// outputs. A collector makes a descriptor and label pairs once for each series
// and not at each scrape. Only the goroutine that call runs uses its fields.
type collector struct {
	reader      *sdkmetric.ManualReader
	scopeLabels bool
	namer       otlptranslator.MetricNamer
	labelNamer  otlptranslator.LabelNamer
	call        isolate.Call[page]

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
	labels []string
	values []string
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

// page is the result of one collection, with its errors.
type page struct {
	families []*dto.MetricFamily
	metrics  []prometheus.Metric // the same
	errs     []error
}

// Collect hands out the metrics.
func (p page) Collect(ch chan<- prometheus.Metric) {
	for _, m := range p.metrics {
		ch <- m
	}
}

func newCollector(o Options) *collector {
	return &collector{
		reader:      sdkmetric.NewManualReader(sdkmetric.WithAggregationSelector(o.aggregation)),
		scopeLabels: o.ScopeLabels,
		// Pinned, because the exporter's default has changed between releases
		// and dashboards depend on the names.
		namer:       otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes),
		families:    map[string]*family{},
		instruments: map[stream]*instrument{},
	}
}

// read collects once. An error means that the page has no metrics.
func (c *collector) read(ctx context.Context) (page, error) {
	var p page
	fail := func(err error) { p.errs = append(p.errs, err) }
	err := c.reader.Collect(context.WithValue(ctx, failures{}, fail), &c.data)
	if errors.Is(err, sdkmetric.ErrReaderShutdown) {
		return page{}, nil
	}
	if err != nil {
		return page{}, err // not of a callback
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
			p.families = append(p.families, f.sorted())
		}
	}
	slices.SortFunc(p.families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return p, nil
}

// add puts a sample into the page.
func (c *collector) add(p *page, f *family, s *sample) {
	if f.turn != c.turn {
		f.turn, f.samples = c.turn, f.samples[:0]
	}
	f.samples = append(f.samples, s)
	p.metrics = append(p.metrics, s)
}

// sorted is the family with its samples in the order of their labels.
func (f *family) sorted() *dto.MetricFamily {
	slices.SortFunc(f.samples, func(a, b *sample) int { return strings.Compare(a.series.place.labels, b.series.place.labels) })
	out := &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: f.kind.Enum(), Metric: make([]*dto.Metric, len(f.samples))}
	for n, s := range f.samples {
		out.Metric[n] = &s.metric
	}
	clear(f.samples)
	return out
}

// targetHelp is the help text of OpenTelemetry's exporter.
const targetHelp = "Target metadata"

// targetInfo adds the resource as labels of a constant.
func (c *collector) targetInfo(p *page) {
	if c.info == nil {
		f := &family{name: otlptranslator.TargetInfoMetricName, help: targetHelp, kind: isGauge, places: map[string]*place{}}
		c.families[f.name] = f
		c.info = &instrument{family: f, series: map[attribute.Distinct]*series{}}
	}
	if s := c.seriesOf(p, c.info, *c.data.Resource.Set()); s != nil {
		one, m := 1.0, &sample{series: s}
		m.metric.Label, m.metric.Gauge = s.labels, &dto.Gauge{Value: &one}
		c.add(p, c.info.family, m)
	}
}

// convert adds the metrics of one instrument to the page.
func (c *collector) convert(p *page, scope instrumentation.Scope, m metricdata.Metrics) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		numbers(c, p, c.instrumentOf(scope, m, sumKind(data.IsMonotonic)), sumKind(data.IsMonotonic), data.DataPoints)
	case metricdata.Sum[float64]:
		numbers(c, p, c.instrumentOf(scope, m, sumKind(data.IsMonotonic)), sumKind(data.IsMonotonic), data.DataPoints)
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
func (c *collector) instrumentOf(scope instrumentation.Scope, m metricdata.Metrics, k dto.MetricType) *instrument {
	id := stream{scope, m.Name, m.Unit, m.Description, k}
	i, ok := c.instruments[id]
	if !ok {
		i = c.newInstrument(scope, m, k)
		c.instruments[id] = i
	}
	return i
}

func (c *collector) newInstrument(scope instrumentation.Scope, m metricdata.Metrics, k dto.MetricType) *instrument {
	i := &instrument{series: map[attribute.Distinct]*series{}}
	name, err := c.namer.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: namingType(m)})
	if err != nil {
		i.err = fmt.Errorf("metrics/prom: the instrument %q: %w", m.Name, err)
		return i
	}
	i.family = c.families[name]
	if i.family == nil {
		if other := c.collides(name, k); other != "" {
			i.err = fmt.Errorf("metrics/prom: the instrument %q of %q: %s collides with %s", m.Name, scope.Name, name, other)
			return i
		}
		i.family = &family{name: name, help: m.Description, kind: k, places: map[string]*place{}}
		c.families[name] = i.family
	}
	if i.family.kind != k {
		i.err = fmt.Errorf("metrics/prom: the instrument %q of %q is a %s, but %s is a %s already", m.Name, scope.Name, k, name, i.family.kind)
	}
	if c.scopeLabels {
		i.labels = []string{"otel_scope_name", "otel_scope_version", "otel_scope_schema_url"}
		i.values = []string{scope.Name, scope.Version, scope.SchemaURL}
		labels, values, err := c.pairs(scope.Attributes)
		if err != nil {
			i.err = fmt.Errorf("metrics/prom: the scope %q: %w", scope.Name, err)
		}
		for _, label := range labels {
			i.labels = append(i.labels, "otel_scope_"+label)
		}
		i.values = append(i.values, values...)
	}
	return i
}

// collides names the family that has the series of a new one, because a
// histogram has three kinds of series.
func (c *collector) collides(name string, k dto.MetricType) string {
	for _, suffix := range []string{"_count", "_sum", "_bucket"} {
		if k == isHistogram && c.families[name+suffix] != nil {
			return name + suffix
		}
		if base, ok := strings.CutSuffix(name, suffix); ok && c.families[base] != nil && c.families[base].kind == isHistogram {
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

// pairs are the labels of attributes. Attributes whose names become one label
// share it: their values are sorted and joined.
func (c *collector) pairs(attrs attribute.Set) (labels, values []string, err error) {
	all := map[string][]string{}
	for _, kv := range attrs.ToSlice() {
		label, err := c.labelNamer.Build(string(kv.Key))
		if err != nil {
			return nil, nil, err
		}
		if _, ok := all[label]; !ok {
			labels = append(labels, label)
		}
		all[label] = append(all[label], kv.Value.Emit())
	}
	for _, label := range labels {
		slices.Sort(all[label])
		values = append(values, strings.Join(all[label], ";"))
	}
	return labels, values, nil
}

// seriesOf returns the series of attributes, or nil after it noted the reason.
func (c *collector) seriesOf(p *page, i *instrument, attrs attribute.Set) *series {
	if i.turn != c.turn {
		i.turn, i.points = c.turn, 0
	}
	i.points++
	s, ok := i.series[attrs.Equivalent()]
	if !ok {
		s = c.newSeries(i, attrs)
		i.series[attrs.Equivalent()] = s
	}
	s.turn = c.turn
	switch {
	case s.err != nil:
		p.errs = append(p.errs, s.err)
		return nil
	case s.place.turn == c.turn:
		p.errs = append(p.errs, fmt.Errorf("metrics/prom: a series of %s is there twice: %v", i.family.name, s.labels))
		return nil
	}
	s.place.turn = c.turn
	return s
}

func (c *collector) newSeries(i *instrument, attrs attribute.Set) *series {
	labels, values, err := c.pairs(attrs)
	labels, values = append(labels, i.labels...), append(values, i.values...)
	s := &series{desc: prometheus.NewDesc(i.family.name, i.family.help, labels, nil), values: values}
	if err == nil {
		// Making the pairs also finds values that Prometheus does not accept.
		var m prometheus.Metric
		var out dto.Metric
		if m, err = prometheus.NewConstMetric(s.desc, prometheus.GaugeValue, 0, values...); err == nil {
			err = m.Write(&out)
		}
		s.labels = out.GetLabel()
	}
	if err != nil {
		s.err = fmt.Errorf("metrics/prom: a series of %s: %w", i.family.name, err)
		return s
	}
	var key strings.Builder
	for _, l := range s.labels {
		key.WriteString(l.GetName() + "\xff" + l.GetValue() + "\xff")
	}
	if s.place = i.family.places[key.String()]; s.place == nil {
		s.place = &place{labels: key.String()}
		i.family.places[s.place.labels] = s.place
	}
	return s
}

// forget drops the series that this collection did not have, so that
// short-lived series do not pile up. It keeps about as many of them as there
// are current series.
func (c *collector) forget(i *instrument) {
	points := i.points
	if i.turn != c.turn {
		points = 0 // the instrument has stopped
	}
	if len(i.series) <= 2*points+16 {
		return
	}
	for id, s := range i.series {
		if s.turn == c.turn {
			continue
		}
		delete(i.series, id)
		if s.place != nil && s.place.turn != c.turn { // no other series took it
			delete(i.family.places, s.place.labels)
		}
	}
}
