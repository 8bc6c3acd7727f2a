// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// sample is one metric of one collection. It does not change once it is in a
// page, because scrapes share it.
type sample struct {
	series *series
	metric dto.Metric
}

// Desc describes the metric.
func (s *sample) Desc() *prometheus.Desc { return s.series.desc }

// Write hands out the metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.metric.Label
	out.Counter = s.metric.Counter
	out.Gauge = s.metric.Gauge
	out.Histogram = s.metric.Histogram
	return nil
}

// usable notes why an instrument cannot be served, and reports whether it can.
func (i *instrument) usable(p *Page) bool {
	if i.err != nil {
		p.Errs = append(p.Errs, i.err)
	}
	return i.err == nil
}

// numbers adds the points of a counter or a gauge. All points of an instrument
// share three allocations.
func numbers[N int64 | float64](
	c *Collector,
	p *Page,
	i *instrument,
	k dto.MetricType,
	points []metricdata.DataPoint[N],
) {
	if !i.usable(p) {
		return
	}
	samples := make([]sample, len(points))
	values := make([]float64, len(points))
	var counters []dto.Counter
	var gauges []dto.Gauge
	if k == isCounter {
		counters = make([]dto.Counter, len(points))
	} else {
		gauges = make([]dto.Gauge, len(points))
	}
	for n, point := range points {
		s := c.seriesOf(p, i, point.Attributes)
		if s == nil {
			continue
		}
		m := &samples[n]
		m.series = s
		m.metric.Label = s.labels
		values[n] = float64(point.Value)
		if k == isCounter {
			counters[n].Value = &values[n]
			m.metric.Counter = &counters[n]
			attach(c, p, m, point.Exemplars)
		} else {
			gauges[n].Value = &values[n]
			m.metric.Gauge = &gauges[n]
		}
		c.add(p, i.family, m)
	}
}

// histograms adds the points of a histogram with fixed buckets.
func histograms[N int64 | float64](
	c *Collector,
	p *Page,
	i *instrument,
	points []metricdata.HistogramDataPoint[N],
) {
	if !i.usable(p) {
		return
	}
	samples := make([]sample, len(points))
	dtos := make([]dto.Histogram, len(points))
	for n, point := range points {
		s := c.seriesOf(p, i, point.Attributes)
		if s == nil {
			continue
		}
		if !slices.Equal(s.bounds, point.Bounds) {
			s.bounds = slices.Clone(point.Bounds)
		}
		h := &dtos[n]
		count := point.Count
		sum := float64(point.Sum)
		h.SampleCount = &count
		h.SampleSum = &sum
		h.Bucket = make([]*dto.Bucket, len(s.bounds))
		buckets := make([]dto.Bucket, len(s.bounds))
		counts := make([]uint64, len(s.bounds))
		var cumulative uint64
		for b := range s.bounds {
			cumulative += point.BucketCounts[b]
			counts[b] = cumulative
			buckets[b].UpperBound = &s.bounds[b]
			buckets[b].CumulativeCount = &counts[b]
			h.Bucket[b] = &buckets[b]
		}
		m := &samples[n]
		m.series = s
		m.metric.Label = s.labels
		m.metric.Histogram = h
		attach(c, p, m, point.Exemplars)
		c.add(p, i.family, m)
	}
}

// The scales that Prometheus has.
const (
	finestScale   = 8
	coarsestScale = -4
)

// natives adds the points of a histogram with exponential buckets.
func natives[N int64 | float64](
	c *Collector,
	p *Page,
	i *instrument,
	points []metricdata.ExponentialHistogramDataPoint[N],
) {
	if !i.usable(p) {
		return
	}
	for _, point := range points {
		s := c.seriesOf(p, i, point.Attributes)
		if s == nil {
			continue
		}
		if point.Scale < coarsestScale {
			p.Errs = append(p.Errs, fmt.Errorf("metrics/prom: a series of %s: the scale is %d, "+
				"and Prometheus' coarsest is %d", i.family.name, point.Scale, coarsestScale))
			continue
		}
		by := max(0, point.Scale-finestScale)
		native, err := prometheus.NewConstNativeHistogram(s.desc, point.Count, float64(point.Sum),
			spread(point.PositiveBucket, by), spread(point.NegativeBucket, by),
			point.ZeroCount, point.Scale-by, point.ZeroThreshold, point.StartTime, s.values...)
		var out dto.Metric
		if err == nil {
			err = native.Write(&out)
		}
		if err != nil {
			err = fmt.Errorf("metrics/prom: a series of %s: %w", i.family.name, err)
			p.Errs = append(p.Errs, err)
			continue
		}
		m := &sample{series: s}
		m.metric.Label = s.labels
		m.metric.Histogram = out.GetHistogram()
		attach(c, p, m, point.Exemplars)
		c.add(p, i.family, m)
	}
}

// spread counts by Prometheus' bucket index, which is the index of the upper
// bound, at a scale that is coarser by so many steps.
func spread(b metricdata.ExponentialBucket, by int32) map[int]int64 {
	all := map[int]int64{}
	for n, count := range b.Counts {
		index := int(b.Offset) + n
		all[index>>by+1] += int64(min(count, math.MaxInt64)) //nolint:gosec // it is bounded
	}
	return all
}

// attach puts the exemplars into a metric that is not in the page yet, each
// into its bucket.
func attach[N int64 | float64](
	c *Collector,
	p *Page,
	m *sample,
	exemplars []metricdata.Exemplar[N],
) {
	if len(exemplars) == 0 {
		return
	}
	all := make([]prometheus.Exemplar, len(exemplars))
	var err error
	for n, e := range exemplars {
		labels := prometheus.Labels{}
		for _, kv := range e.FilteredAttributes {
			label, e := c.labelNamer.Build(string(kv.Key))
			err = errors.Join(err, e)
			labels[label] = kv.Value.Emit()
		}
		labels[otlptranslator.ExemplarTraceIDKey] = hex.EncodeToString(e.TraceID)
		labels[otlptranslator.ExemplarSpanIDKey] = hex.EncodeToString(e.SpanID)
		all[n] = prometheus.Exemplar{Value: float64(e.Value), Timestamp: e.Time, Labels: labels}
	}
	var with prometheus.Metric
	if err == nil {
		with, err = prometheus.NewMetricWithExemplars(m, all...)
	}
	if err == nil {
		err = with.Write(new(dto.Metric)) // it writes into what m hands out
	}
	if err != nil {
		p.Errs = append(p.Errs, fmt.Errorf("metrics/prom: an exemplar: %w", err))
	}
	sortExemplar(m.metric.GetCounter().GetExemplar())
	h := m.metric.GetHistogram()
	for _, e := range h.GetExemplars() {
		sortExemplar(e)
	}
	for _, b := range h.GetBucket() {
		sortExemplar(b.GetExemplar())
	}
}

// sortExemplar sorts the labels, which come from a map. Equal metrics give
// equal pages.
func sortExemplar(e *dto.Exemplar) {
	slices.SortFunc(e.GetLabel(), func(a, b *dto.LabelPair) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
}
