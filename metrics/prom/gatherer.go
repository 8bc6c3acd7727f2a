// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"

	"github.com/proompteng/controllerkit/internal/isolate"
	"github.com/proompteng/controllerkit/metrics/prom/internal/convert"
)

// gatherer is one of Options.Gatherers.
type gatherer struct {
	prometheus.Gatherer
	call isolate.Call[[]*dto.MetricFamily]
}

// whole gathers, without the families that have a nil in them. Prometheus'
// merge would panic.
func (g *gatherer) whole() ([]*dto.MetricFamily, error) {
	families, err := g.Gather()
	var all []*dto.MetricFamily
	for _, f := range families {
		if f == nil || slices.Contains(f.Metric, nil) {
			bad := fmt.Errorf("the family %q is nil or has a metric that is nil", f.GetName())
			err = errors.Join(err, bad)
			continue
		}
		all = append(all, f)
	}
	return all, err
}

// gathering is a time limit for all gatherers of a scrape. Gatherers have no
// context.
func gathering(limit time.Duration) (context.Context, context.CancelFunc) {
	background := context.Background() //nolint:forbidigo // Prometheus' interfaces pass none
	return context.WithTimeout(background, limit)
}

// collect reads the provider's metrics. An error means that there are none.
func (e *Endpoint) collect(ctx context.Context) (convert.Page, error) {
	p, err := e.collection.Start(func() (convert.Page, error) { return e.read(ctx) }).Wait(ctx)
	if errors.Is(err, isolate.ErrLate) {
		return convert.Page{}, fmt.Errorf("metrics/prom: collect: the provider %w", err)
	}
	if err != nil {
		return convert.Page{}, fmt.Errorf("metrics/prom: collect: %w", err)
	}
	return p, nil
}

// read collects once. The goroutine of collection alone uses the collector.
func (e *Endpoint) read(ctx context.Context) (convert.Page, error) {
	var errs []error
	fail := func(err error) { errs = append(errs, err) }
	p, err := e.collector.Read(context.WithValue(ctx, failures{}, fail))
	p.Errs = append(errs, p.Errs...)
	return p, err //nolint:wrapcheck // collect does
}

// gather is one scrape: the metrics of the provider, of Options.Gatherers and
// of the process. If the provider's metrics are missing, the scrape fails.
func (e *Endpoint) gather() ([]*dto.MetricFamily, error) {
	ctx, cancel := gathering(e.timeout)
	defer cancel()
	var runs []*isolate.Run[[]*dto.MetricFamily]
	for _, g := range e.gatherers {
		runs = append(runs, g.call.Start(g.whole))
	}
	p, err := e.collect(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(p.Families) // which other scrapes share
	errs := slices.Clone(p.Errs)
	if len(runs) > 0 {
		merged := prometheus.Gatherers{gathered(all)}
		for i, run := range runs {
			families, err := run.Wait(ctx)
			if err != nil {
				errs = append(errs, fmt.Errorf("metrics/prom: Options.Gatherers[%d]: %w", i, err))
			}
			merged = append(merged, gathered(families))
		}
		all, err = merged.Gather()
		errs = append(errs, err)
	}
	var process []*dto.MetricFamily
	if e.process != nil {
		process, err = e.process.Gather()
		errs = append(errs, err)
	}
	// A gatherer may return the process metrics too.
	for _, f := range append(process, e.errors.family()) {
		sameName := func(have *dto.MetricFamily) bool { return have.GetName() == f.GetName() }
		if !slices.ContainsFunc(all, sameName) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return all, errors.Join(errs...)
}

// gathered is a gatherer of families that are there.
func gathered(families []*dto.MetricFamily) prometheus.GathererFunc {
	return func() ([]*dto.MetricFamily, error) { return families, nil }
}

// Describe describes only target_info, because the other metrics are not known
// in advance. A registry therefore accepts one endpoint and refuses a second
// one, whose series would collide with the first. Where two managers of one
// process register the same endpoint, the second gets a
// [prometheus.AlreadyRegisteredError] that names it, and may go on: the
// registry serves it.
func (e *Endpoint) Describe(ch chan<- *prometheus.Desc) {
	ch <- prometheus.NewDesc(otlptranslator.TargetInfoMetricName, convert.TargetHelp, nil, nil)
}

// Collect hands out the metrics of the provider, so that you can register an
// Endpoint with an existing registry, such as controller-runtime's. It omits
// the metrics of Options.Gatherers and of the process. A callback that fails
// costs its own metrics, and only Options.OnError reports it.
func (e *Endpoint) Collect(ch chan<- prometheus.Metric) {
	if !e.made() {
		return
	}
	ctx, cancel := gathering(e.timeout)
	defer cancel()
	p, err := e.collect(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	err = errors.Join(errors.Join(p.Errs...), err)
	if err != nil && e.errors.onError != nil {
		e.errors.onError(err)
	}
	for _, m := range p.Metrics {
		ch <- m
	}
}
