// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// times is a subject whose job cannot fail.
func times(name string, f func()) bench.Subject {
	return bench.Subject{Name: name, Do: bench.Each(func() error { f(); return nil })}
}

// exported are metrics, and the page that shows them.
func exported() (http.Handler, *metrics.Metrics, error) {
	endpoint, err := prom.New(prom.Options{})
	if err != nil {
		return nil, nil, err
	}
	m, err := metrics.New(endpoint, metrics.Options{})
	return endpoint, m, err
}

// reconciling wraps a reconcile that succeeds, as a user writes it.
func reconciling(ctx context.Context) (bench.Subject, error) {
	_, m, err := exported()
	if err != nil {
		return bench.Subject{}, err
	}
	c := m.Controller("agentrun") //nolint:contextcheck // zeros have no context
	return bench.Subject{Do: bench.Each(func() error { return reconcile(ctx, c) })}, nil
}

func reconcile(ctx context.Context, c *metrics.Controller) (err error) {
	_, done := c.Begin(ctx, "ci/run-1")
	defer done(&err, nil)
	return nil
}

// counting does the same with client_golang: it counts the reconcile by its
// result, counts it as running, and records its duration. Each metric was
// looked up once.
func counting() bench.Subject {
	labels := []string{"controller", "result"}
	running := prometheus.GaugeOpts{Name: "active"}
	counted := prometheus.CounterOpts{Name: "total"}
	buckets := []float64{ // as controller.reconcile.duration has them
		.0001, .0005, .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300,
	}
	seconds := prometheus.HistogramOpts{Name: "seconds", Buckets: buckets}
	active := prometheus.NewGaugeVec(running, labels[:1]).WithLabelValues("agentrun")
	total := prometheus.NewCounterVec(counted, labels).WithLabelValues("agentrun", "success")
	duration := prometheus.NewHistogramVec(seconds, labels).WithLabelValues("agentrun", "success")
	return times(children, func() {
		active.Inc()
		defer active.Dec()
		began := time.Now()
		defer func() { duration.Observe(time.Since(began).Seconds()) }()
		total.Inc()
	})
}
