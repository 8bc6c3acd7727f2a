// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// measured is a reconciler that counts what it does.
type measured struct {
	missing   prometheus.Counter
	metrics   *metrics.Controller
	reconcile func(context.Context, ctrl.Request) (ctrl.Result, error)
}

func metricsBefore() *measured {
	opts := prometheus.CounterOpts{Name: "agentrun_missing_jobs_total", Help: "Jobs that were gone."}
	missing := prometheus.NewCounter(opts)
	ctrlmetrics.Registry.MustRegister(missing)
	return &measured{missing: missing}
}

func metricsAfter(config *rest.Config, options *ctrl.Options) (*measured, error) {
	endpoint, err := prom.New(prom.Options{Gatherers: []prometheus.Gatherer{ctrlmetrics.Registry}})
	if err != nil {
		return nil, err
	}
	final := func(e error) bool { return errors.Is(e, reconcile.TerminalError(nil)) || events.IsTerminal(e) }
	m, err := metrics.New(endpoint, metrics.Options{IsTerminal: final})
	if err != nil {
		return nil, err
	}
	config.Wrap(kube.Transport(m))
	options.Metrics.ExtraHandlers = map[string]http.Handler{"/metrics/all": endpoint}
	return &measured{metrics: m.Controller("agentrun")}, nil
}

func (r *measured) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
	ctx, done := r.metrics.Begin(ctx, req)
	defer done(&err, &res.RequeueAfter)
	return r.reconcile(ctx, req)
}

// metricsOfClusters keeps the requests to several clusters apart.
func metricsOfClusters(m *metrics.Metrics, configs map[string]*rest.Config) {
	for cluster, config := range configs {
		config.Wrap(kube.Transport(m.Scope(cluster)))
	}
}

type (
	rateLimiter  = workqueue.TypedRateLimiter[ctrl.Request]
	requestQueue = workqueue.TypedRateLimitingInterface[ctrl.Request]
)

// measuredQueue is the NewQueue of a controller's Options, as the documentation
// of kube.QueueProvider shows it.
func measuredQueue(c *metrics.Controller) (func(string, rateLimiter) requestQueue, error) {
	queues, err := kube.QueueProvider(c)
	return func(name string, limiter rateLimiter) requestQueue {
		return priorityqueue.New(name, func(o *priorityqueue.Opts[ctrl.Request]) {
			o.RateLimiter = limiter
			o.MetricProvider = queues
		})
	}, err
}
