// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// TestThePriorityQueueIsMeasured: a priority queue with our provider has its
// metrics on our endpoint, under the names that the dashboard queries.
func TestThePriorityQueueIsMeasured(t *testing.T) {
	endpoint, err := prom.New(prom.Options{})
	require.NoError(t, err)
	m, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	options := ctrl.Options{}
	options.Metrics.BindAddress = "0"
	mgr, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1"}, options) // no request is sent to it
	require.NoError(t, err)

	provider, err := kube.QueueProvider(m.Controller("measured"))
	require.NoError(t, err)
	hold := make(chan struct{})
	c, err := ctrlcontroller.New("measured", mgr, ctrlcontroller.Options{
		SkipNameValidation: new(true), // as in TestTheManagerRunsTasks
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) {
				o.RateLimiter, o.MetricProvider = limiter, provider
			})
		},
		Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			if r.Name == "fails" {
				return reconcile.Result{}, errors.New("it is tried again")
			}
			<-hold
			return reconcile.Result{}, nil
		}),
	})
	require.NoError(t, err)
	require.NoError(t, c.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for _, name := range []string{"fails", "holds", "waits"} {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
		}
		return nil
	})))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()

	// One worker: the first fails, the second holds it, and the third and the
	// first wait.
	assert.EventuallyWithT(t, func(t *assert.CollectT) {
		page := httptest.NewRecorder()
		endpoint.ServeHTTP(page, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody))
		shown := map[string]float64{}
		for l := range strings.Lines(page.Body.String()) {
			if name, value, found := strings.Cut(strings.TrimSpace(l), `{controller="measured"} `); found {
				shown[name], _ = strconv.ParseFloat(value, 64)
			}
		}
		for series, want := range map[string]float64{
			"controller_queue_adds_total": 4, "controller_queue_retries_total": 1, "controller_queue_depth": 2,
			"controller_queue_wait_duration_seconds_count": 2,
		} {
			assert.InDelta(t, want, shown[series], 0, series)
		}
		assert.Positive(t, shown["controller_queue_longest_running_seconds"])
		assert.Positive(t, shown["controller_queue_unfinished_work_seconds"])
	}, time.Minute, 50*time.Millisecond)
	stop()
	close(hold)
	require.NoError(t, <-ended)
}
