// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics/kube"
)

// growth compares a scrape of many series with one of a tenth of them.
func growth(ctx context.Context) (bench.Measure, error) {
	many, err := populated(ctx, 150)
	if err != nil {
		return bench.Measure{}, err
	}
	few, err := populated(ctx, 15)
	return bench.Measure{
		Name:  "scrape of 150 controllers, next to 15",
		Ours:  scraping(ctx, "", many),
		Peers: []bench.Subject{scraping(ctx, fewer, few)},
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Peer: fewer, Limit: "<= 12x"},
			{Unit: bench.Allocs, Peer: fewer, Limit: "<= 10.5x"},
		},
	}, err
}

// populated is an endpoint with n controllers. Each had a successful reconcile
// and an item in its queue.
func populated(ctx context.Context, n int) (http.Handler, error) {
	page, m, err := exported()
	if err != nil {
		return nil, err
	}
	for i := range n {
		c := m.Controller("controller-" + strconv.Itoa(i))
		c.SetWorkers(1)
		err := reconcile(ctx, c)
		if err != nil {
			return nil, err
		}
		provider, err := kube.QueueProvider(c)
		if err != nil {
			return nil, err
		}
		config := workqueue.TypedQueueConfig[string]{Name: "c", MetricsProvider: provider}
		q := workqueue.NewTypedWithConfig(config)
		q.Add("item")
		item, _ := q.Get()
		q.Done(item)
		q.ShutDown()
	}
	return page, nil
}

// scraping serves scrapes in the text format to a client that discards them.
func scraping(ctx context.Context, name string, h http.Handler) bench.Subject {
	return bench.Subject{Name: name, Do: bench.Each(func() error { return scrape(ctx, h) })}
}

func scrape(ctx context.Context, h http.Handler) error {
	w := &httptest.ResponseRecorder{Code: http.StatusOK} // without a body
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		return fmt.Errorf("the scrape answers %d", w.Code)
	}
	return nil
}
