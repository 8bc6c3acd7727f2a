// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

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
	missing := prometheus.NewCounter(prometheus.CounterOpts{Name: "agentrun_missing_jobs_total", Help: "Jobs that were gone."})
	ctrlmetrics.Registry.MustRegister(missing)
	return &measured{missing: missing}
}

func metricsAfter(config *rest.Config, options *ctrl.Options) (*measured, error) {
	endpoint, err := prom.New(prom.Options{Gatherers: []prometheus.Gatherer{ctrlmetrics.Registry}})
	if err != nil {
		return nil, err
	}
	m, err := metrics.New(endpoint, metrics.Options{})
	if err != nil {
		return nil, err
	}
	config.Wrap(kube.Transport(m))
	options.Metrics.ExtraHandlers = map[string]http.Handler{"/metrics/all": endpoint}
	return &measured{metrics: m.Controller("agentrun")}, nil
}

func (r *measured) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var result metrics.Result
	defer r.metrics.Begin().End(ctx, &result)
	res, err := r.reconcile(ctx, req)
	result = metrics.Classify(err, res.RequeueAfter, events.IsTerminal)
	return res, err
}
