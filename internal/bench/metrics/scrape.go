// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// growth compares a scrape of many series with one of a tenth of them.
func growth(ctx context.Context) bench.Measure {
	handler := func(n int) func() (http.Handler, error) {
		return sync.OnceValues(func() (http.Handler, error) { return populated(ctx, n) })
	}
	return bench.Measure{
		Name:  "scrape of 150 controllers, next to 15",
		Ours:  scraping(ctx, "", handler(150)),
		Peers: []bench.Subject{scraping(ctx, fewer, handler(15))},
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Peer: fewer, Limit: "<= 12x"},
			{Unit: bench.Allocs, Peer: fewer, Limit: "<= 10.5x"},
		},
	}
}

// populated is an endpoint with n controllers. Each had a successful reconcile
// and an item in its queue.
func populated(ctx context.Context, n int) (http.Handler, error) {
	endpoint, err := prom.New(prom.Options{NoProcessMetrics: true})
	if err != nil {
		return nil, err
	}
	m, err := metrics.New(endpoint, metrics.Options{})
	if err != nil {
		return nil, err
	}
	for i := range n {
		c := m.Controller("controller-" + strconv.Itoa(i))
		c.SetWorkers(1)
		c.Begin().End(ctx, new(metrics.Success))
		q := kube.NewQueue[string](c, nil) //nolint:contextcheck // a queue has none
		q.Add("item")
		item, _ := q.Get()
		q.Done(item)
	}
	return endpoint, nil
}

// scraping serves scrapes in the text format to a client that discards them.
func scraping(ctx context.Context, name string, handler func() (http.Handler, error)) bench.Subject {
	return bench.Subject{Name: name, Do: bench.Each(func() error {
		h, err := handler()
		if err != nil {
			return err
		}
		return scrape(ctx, h)
	})}
}

func scrape(ctx context.Context, h http.Handler) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody)
	if err != nil {
		return err
	}
	w := &discard{header: http.Header{}}
	h.ServeHTTP(w, r)
	if w.code != 0 && w.code != http.StatusOK || w.size == 0 {
		return fmt.Errorf("the scrape answers %d with %d bytes", w.code, w.size)
	}
	return nil
}

// discard is a ResponseWriter that counts.
type discard struct {
	header     http.Header
	code, size int
}

func (d *discard) Header() http.Header { return d.header }

func (d *discard) WriteHeader(code int) { d.code = code }

func (d *discard) Write(b []byte) (int, error) {
	d.size += len(b)
	return len(b), nil
}
