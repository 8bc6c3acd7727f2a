// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"
)

// page gathers one scrape: the metrics of the provider, of Options.Gatherers
// and of the process.
func (e *Endpoint) page() ([]*dto.MetricFamily, error) {
	families, err := e.collect()
	errs := []error{err}
	if len(e.gatherers) > 0 {
		merged := prometheus.Gatherers{gathered(families)}
		for i, g := range e.gatherers {
			var theirs []*dto.MetricFamily
			err := guarded(func() (err error) {
				theirs, err = g.Gather()
				return err
			})
			if err != nil {
				errs = append(errs, fmt.Errorf("Options.Gatherers[%d]: %w", i, err))
			}
			merged = append(merged, gathered(theirs))
		}
		families, err = merged.Gather() // the first of equal series
		errs = append(errs, err)
	}
	process, err := e.process.Gather()
	errs = append(errs, err)
	for _, f := range process {
		sameName := func(have *dto.MetricFamily) bool { return have.GetName() == f.GetName() }
		if !slices.ContainsFunc(families, sameName) { // a gatherer may have it too
			families = append(families, f)
		}
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return families, e.report(errs...)
}

// gathered is a gatherer of families that are there.
func gathered(families []*dto.MetricFamily) prometheus.GathererFunc {
	return func() ([]*dto.MetricFamily, error) { return families, nil }
}

// report passes the errors of one collection to Options.OnError, and returns
// them.
func (e *Endpoint) report(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("metrics/prom: collect: %w", err)
	if e.onError != nil {
		e.onError(err)
	}
	return err
}

// bucketLabel is the label of a histogram's bucket. With an attribute of this
// name the label would be there twice, and Prometheus refuses the whole page.
const bucketLabel = "le"

// collect returns the provider's metrics that Prometheus accepts.
func (e *Endpoint) collect() ([]*dto.MetricFamily, error) {
	families, err := e.provider.Gather()
	errs := []error{err, e.callbacks.take()}
	for _, f := range families {
		if f.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		n := len(f.Metric)
		f.Metric = slices.DeleteFunc(f.Metric, hasBucketLabel)
		if len(f.Metric) < n {
			errs = append(errs, fmt.Errorf("%s: the attribute %q of a histogram "+
				"is not accepted; want another name", f.GetName(), bucketLabel))
		}
	}
	empty := func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 }
	return slices.DeleteFunc(families, empty), errors.Join(errs...)
}

func hasBucketLabel(m *dto.Metric) bool {
	for _, l := range m.Label {
		if l.GetName() == bucketLabel {
			return true
		}
	}
	return false
}

// targetHelp is the help text of OpenTelemetry's exporter.
const targetHelp = "Target metadata"

// Describe describes only target_info, because the other metrics are not known
// in advance. A registry therefore accepts one endpoint and refuses a second
// one, whose series would collide with the first. Where two managers of one
// process register the same endpoint, the second gets a
// [prometheus.AlreadyRegisteredError] that names it, and may go on: the
// registry serves it.
func (e *Endpoint) Describe(ch chan<- *prometheus.Desc) {
	ch <- prometheus.NewDesc(otlptranslator.TargetInfoMetricName, targetHelp, nil, nil)
}

// Collect hands out the metrics of the provider, so that you can register an
// Endpoint with an existing registry, such as controller-runtime's. It omits
// the metrics of Options.Gatherers and of the process, and has no timeout. An
// error costs its own metrics, and only Options.OnError reports it.
func (e *Endpoint) Collect(ch chan<- prometheus.Metric) {
	if !e.made() {
		return
	}
	families, err := e.collect()
	_ = e.report(err)
	for _, f := range families {
		desc := prometheus.NewDesc(f.GetName(), f.GetHelp(), nil, nil)
		for _, m := range f.Metric {
			ch <- collected{desc, m}
		}
	}
}

// collected is a metric for another registry.
type collected struct {
	desc   *prometheus.Desc
	metric *dto.Metric
}

// Desc describes the metric, without its labels.
func (c collected) Desc() *prometheus.Desc { return c.desc }

// Write copies the metric.
func (c collected) Write(out *dto.Metric) error {
	out.Label = c.metric.Label
	out.Counter = c.metric.Counter
	out.Gauge = c.metric.Gauge
	out.Histogram = c.metric.Histogram
	return nil
}
