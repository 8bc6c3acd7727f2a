// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// scrapes measures one scrape of a process with n controllers. Each had a
// successful reconcile and has an item in its queue. Both sides omit the
// metrics of Go's runtime and of the process, because these are the same.
func scrapes(ctx context.Context, theirs vectors, n int) []bench.Measure {
	peer := sync.OnceValues(func() (http.Handler, error) {
		populate(theirs, n)
		o := promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}
		return promhttp.HandlerFor(theirs.own, o), nil
	})
	ours := sync.OnceValues(func() (http.Handler, error) { return populated(ctx, n, metrics.Success) })
	varied := sync.OnceValues(func() (http.Handler, error) {
		return populated(ctx, n, metrics.Success, metrics.RequeueAfter, metrics.Error)
	})
	name := strconv.Itoa(n) + " controllers"
	within := func(limit string) []bench.Gate {
		return []bench.Gate{
			{Unit: bench.Nanos, Peer: ctrlRuntime, Limit: limit},
			{Unit: bench.Allocs, Peer: ctrlRuntime, Limit: limit},
		}
	}
	size := func(name string, h func() (http.Handler, error), gates ...bench.Gate) bench.Measure {
		return bench.Measure{
			Name:  name,
			Unit:  "KiB",
			Ours:  sizing(ctx, "", h),
			Peers: []bench.Subject{sizing(ctx, ctrlRuntime, peer)},
			Gates: gates,
		}
	}
	return []bench.Measure{
		{
			Name:  "scrape of " + name,
			Ours:  scraping(ctx, "", ours, false),
			Peers: []bench.Subject{scraping(ctx, ctrlRuntime, peer, false)},
			Gates: append(within("<= 1x"), bench.Gate{Unit: bench.Nanos, Limit: "<= 15000000"}),
		},
		{
			Name:  "scrape of " + name + ", gzip",
			Ours:  scraping(ctx, "", ours, true),
			Peers: []bench.Subject{scraping(ctx, ctrlRuntime, peer, true)},
			Gates: within("<= 0.8x"),
		},
		size("body of a scrape of "+name, ours, bench.Gate{Unit: "KiB", Peer: ctrlRuntime, Limit: "<= 0.8x"}),
		// The library has a histogram for each result that occurred,
		// controller-runtime one for all.
		size("body of a scrape of "+name+", three results each", varied),
	}
}

// growth compares a scrape of many series with one of a tenth of them.
func growth(ctx context.Context) bench.Measure {
	handler := func(n int) func() (http.Handler, error) {
		return sync.OnceValues(func() (http.Handler, error) { return populated(ctx, n, metrics.Success) })
	}
	return bench.Measure{
		Name:  "scrape of 150 controllers, next to 15",
		Ours:  scraping(ctx, "", handler(150), false),
		Peers: []bench.Subject{scraping(ctx, fewer, handler(15), false)},
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Peer: fewer, Limit: "<= 12x"},
			{Unit: bench.Allocs, Peer: fewer, Limit: "<= 10.5x"},
		},
	}
}

// populate gives controller-runtime's registry n controllers, and takes from it
// what other measures have left there.
func populate(v vectors, n int) {
	for _, reset := range v.resets {
		reset()
	}
	for i := range n {
		name := "controller-" + strconv.Itoa(i)
		v.prime(name)
		v.reconcile(name, running)
		q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name})
		q.Add("item")
		item, _ := q.Get()
		q.Done(item)
		q.ShutDown()
	}
}

// populated is an endpoint of the library with n controllers, which had a
// reconcile of each result.
func populated(ctx context.Context, n int, results ...metrics.Result) (http.Handler, error) {
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
		for _, result := range results {
			c.Begin().End(ctx, &result)
		}
		q := kube.NewQueue[string](c, nil)
		q.Add("item")
		item, _ := q.Get()
		q.Done(item)
	}
	return endpoint, nil
}

// scraping serves scrapes in the text format to a client that discards them.
func scraping(
	ctx context.Context,
	name string,
	handler func() (http.Handler, error),
	zipped bool,
) bench.Subject {
	return bench.Subject{Name: name, Do: bench.Each(func() error {
		_, err := scrape(ctx, handler, zipped)
		return err
	})}
}

// sizing counts the bytes of a scrape.
func sizing(ctx context.Context, name string, handler func() (http.Handler, error)) bench.Subject {
	return bench.Subject{Name: name, Count: func() (float64, error) {
		n, err := scrape(ctx, handler, false)
		return float64(n) / 1024, err
	}}
}

func scrape(ctx context.Context, handler func() (http.Handler, error), zipped bool) (int, error) {
	h, err := handler()
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	if zipped {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	w := &discard{header: http.Header{}}
	h.ServeHTTP(w, r)
	if w.code != 0 && w.code != http.StatusOK || w.size == 0 {
		return 0, fmt.Errorf("the scrape answers %d with %d bytes", w.code, w.size)
	}
	return w.size, nil
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
