// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	_ "sigs.k8s.io/controller-runtime/pkg/controller" // registers the vectors
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// vectors are controller-runtime's. They are in an internal package, so they
// are taken from its registry: it returns the registered collector when an
// equal one is registered again.
type vectors struct {
	total    *prometheus.CounterVec
	errors   *prometheus.CounterVec
	duration *prometheus.HistogramVec
	active   *prometheus.GaugeVec
	workers  *prometheus.GaugeVec
	depth    *prometheus.GaugeVec

	counters []*prometheus.CounterVec // that a controller sets to zero when it starts
	own      *prometheus.Registry     // without Go's runtime and the process
	resets   []func()                 // of all of them
}

// The kinds of vectors.
type (
	counterVec   = *prometheus.CounterVec
	gaugeVec     = *prometheus.GaugeVec
	histogramVec = *prometheus.HistogramVec
)

func registered() (v vectors, err error) {
	v.own = prometheus.NewRegistry()
	r := find{own: v.own}
	v.total = found[counterVec](&r, "controller_runtime_reconcile_total",
		"Total number of reconciliations per controller",
		"controller", "result")
	v.errors = found[counterVec](&r, "controller_runtime_reconcile_errors_total",
		"Total number of reconciliation errors per controller",
		"controller")
	v.duration = found[histogramVec](&r, "controller_runtime_reconcile_time_seconds",
		"Length of time per reconciliation per controller",
		"controller")
	v.active = found[gaugeVec](&r, "controller_runtime_active_workers",
		"Number of currently used workers per controller",
		"controller")
	v.depth = found[gaugeVec](&r, "workqueue_depth",
		"Current depth of workqueue by workqueue and priority",
		"name", "controller", "priority")
	v.counters = []counterVec{
		v.errors,
		found[counterVec](&r, "controller_runtime_terminal_reconcile_errors_total",
			"Total number of terminal reconciliation errors per controller",
			"controller"),
		found[counterVec](&r, "controller_runtime_reconcile_panics_total",
			"Total number of reconciliation panics per controller",
			"controller"),
		found[counterVec](&r, "controller_runtime_reconcile_timeouts_total",
			"Total number of reconciliation timeouts per controller",
			"controller"),
	}
	v.workers = found[gaugeVec](&r, "controller_runtime_max_concurrent_reconciles",
		"Maximum number of concurrent reconciles per controller",
		"controller")
	found[counterVec](&r, "workqueue_adds_total",
		"Total number of adds handled by workqueue",
		"name", "controller")
	found[histogramVec](&r, "workqueue_queue_duration_seconds",
		"How long in seconds an item stays in workqueue before being requested",
		"name", "controller")
	found[histogramVec](&r, "workqueue_work_duration_seconds",
		"How long in seconds processing an item from workqueue takes.",
		"name", "controller")
	found[gaugeVec](&r, "workqueue_longest_running_processor_seconds",
		"How many seconds has the longest running processor for workqueue been running.",
		"name", "controller")
	found[gaugeVec](&r, "workqueue_unfinished_work_seconds",
		"How many seconds of work has been done that is in progress and hasn't been observed by "+
			"work_duration. Large values indicate stuck threads. One can deduce the number of stuck "+
			"threads by observing the rate at which this increases.",
		"name", "controller")
	found[counterVec](&r, "workqueue_retries_total",
		"Total number of items added to the workqueue with a non-zero delay (rate-limited "+
			"requeues, explicit RequeueAfter or AddAfter calls)",
		"name", "controller")
	v.resets = r.resets
	return v, r.err
}

// find collects what found could not find.
type find struct {
	own    *prometheus.Registry
	resets []func()
	err    error
}

// found is the registered collector with that name, help and labels, which must
// be equal. Its other options, such as buckets, may differ.
func found[C interface {
	prometheus.Collector
	Reset()
}](r *find, name, help string, labels ...string) (c C) {
	var there prometheus.AlreadyRegisteredError
	same := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	refused := crmetrics.Registry.Register(same)
	if !errors.As(refused, &there) {
		r.err = errors.Join(r.err, fmt.Errorf("controller-runtime has no %s: %w", name, refused))
		return c
	}
	c, ok := there.ExistingCollector.(C)
	if !ok {
		err := fmt.Errorf("controller-runtime's %s is a %T", name, there.ExistingCollector)
		r.err = errors.Join(r.err, err)
		return c
	}
	r.err = errors.Join(r.err, r.own.Register(c))
	r.resets = append(r.resets, c.Reset)
	return c
}

// reconcile does what controller-runtime's reconcileHandler does for a
// reconcile that succeeds.
func (v vectors) reconcile(name string, clock watch) {
	v.active.WithLabelValues(name).Add(1)
	defer v.active.WithLabelValues(name).Add(-1)
	began := clock.start()
	defer func() { v.duration.WithLabelValues(name).Observe(clock.took(began)) }()
	v.total.WithLabelValues(name, "success").Inc()
}

// prime does what controller-runtime's initMetrics does when a controller
// starts.
func (v vectors) prime(name string) {
	for _, result := range []string{"error", "requeue_after", "requeue", "success"} {
		v.total.WithLabelValues(name, result).Add(0)
	}
	for _, c := range v.counters {
		c.WithLabelValues(name).Add(0)
	}
	v.workers.WithLabelValues(name).Set(1)
	v.active.WithLabelValues(name).Set(0)
}
