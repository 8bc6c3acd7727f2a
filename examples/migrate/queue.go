// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"net"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// worker takes keys from its queue.
type worker struct {
	queue     workqueue.TypedRateLimitingInterface[string]
	metrics   *metrics.Controller // nil before the migration, and in tests
	reconcile func(ctx context.Context, key string) error
}

func queueBefore() *worker {
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	return &worker{queue: queue}
}

// queueAfter serves /metrics until ctx ends or work returns.
//
//nolint:contextcheck // a queue has no context
func queueAfter(
	ctx context.Context, config *rest.Config, listener net.Listener,
	work func(ctx context.Context, w *worker) error,
) error {
	endpoint, err := prom.New(prom.Options{})
	if err != nil {
		return err
	}
	m, err := metrics.New(endpoint, metrics.Options{IsTerminal: events.IsTerminal})
	if err != nil {
		return err
	}
	config.Wrap(kube.Transport(m)) // before the clients are made
	controller := m.Controller("sample")
	provider, err := kube.QueueProvider(controller)
	if err != nil {
		return err
	}
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	named := workqueue.TypedRateLimitingQueueConfig[string]{Name: "sample", MetricsProvider: provider}
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(limiter, named)

	ctx, stop := context.WithCancel(ctx)
	var serving sync.WaitGroup
	var served error
	serving.Go(func() { served = endpoint.Serve(ctx, listener) })
	err = work(ctx, &worker{queue: queue, metrics: controller})
	stop()
	serving.Wait()
	return errors.Join(err, served)
}

// next reconciles one key. It returns false when the queue is shut down.
func (w *worker) next(ctx context.Context) bool {
	key, shutdown := w.queue.Get()
	if shutdown {
		return false
	}
	defer w.queue.Done(key)
	err := w.measured(ctx, key)
	if err != nil {
		w.queue.AddRateLimited(key)
		return true
	}
	w.queue.Forget(key)
	return true
}

func (w *worker) measured(ctx context.Context, key string) (err error) {
	ctx, done := w.metrics.Begin(ctx, key)
	defer done(&err, nil)
	return w.reconcile(ctx, key)
}
