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

	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// scrapes measure one scrape of a process with n controllers, each of which had a reconcile that succeeded and an item
// in its queue. controller-runtime's registry is scraped as its metrics server does, with Go's runtime metrics that it
// always has, and without them; ours has none.
func scrapes(ctx context.Context, theirs vectors, n int) []bench.Measure {
	handle := promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}
	whole := sync.OnceValues(func() (http.Handler, error) {
		populate(theirs, n)
		return promhttp.HandlerFor(crmetrics.Registry, handle), nil
	})
	bare := sync.OnceValues(func() (http.Handler, error) {
		populate(theirs, n)
		return promhttp.HandlerFor(theirs.own, handle), nil
	})
	ours := sync.OnceValues(func() (http.Handler, error) { return populated(ctx, n, metrics.Success) })
	varied := sync.OnceValues(func() (http.Handler, error) {
		return populated(ctx, n, metrics.Success, metrics.RequeueAfter, metrics.Error)
	})
	const withoutGo = ctrlRuntime + " without Go's"
	limits := map[int][2]string{10: {"<= 2x", "<= 0.6x"}, 50: {"<= 4x", "<= 0.8x"}}[n]
	size := []bench.Gate{{Unit: "KiB", Peer: ctrlRuntime, Limit: limits[1]}}
	if n == 50 { // the limits are of the whole registry; without Go's metrics, which ours lacks too, this one alone holds
		size = append(size, bench.Gate{Unit: "KiB", Peer: withoutGo, Limit: limits[1]})
	}
	name := strconv.Itoa(n) + " controllers"
	sizes := []bench.Subject{sizing(ctx, ctrlRuntime, whole), sizing(ctx, withoutGo, bare)}
	return []bench.Measure{
		{
			Name:  "scrape of " + name,
			Ours:  scraping(ctx, "", ours),
			Peers: []bench.Subject{scraping(ctx, ctrlRuntime, whole), scraping(ctx, withoutGo, bare)},
			Gates: []bench.Gate{
				{Unit: bench.Nanos, Peer: ctrlRuntime, Limit: limits[0]},
				{Unit: bench.Nanos, Limit: "<= 15000000"},
			},
		},
		{
			Name: "body of a scrape of " + name, Unit: "KiB", Ours: sizing(ctx, "", ours), Peers: sizes, Gates: size,
		},
		{
			// Ours has a histogram for each result that occurred, controller-runtime has one for all.
			Name: "body of a scrape of " + name + ", three results each", Unit: "KiB", Ours: sizing(ctx, "", varied), Peers: sizes,
		},
	}
}

// populate gives controller-runtime's registry n controllers, and takes from it what other measures have left there.
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

// populated is an endpoint of ours with n controllers, which had a reconcile of each result.
func populated(ctx context.Context, n int, results ...metrics.Result) (http.Handler, error) {
	endpoint, err := prom.New(prom.Options{})
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

// scraping serves scrapes, in the text format and without compression, to nobody.
func scraping(ctx context.Context, name string, handler func() (http.Handler, error)) bench.Subject {
	return bench.Subject{Name: name, Do: bench.Each(func() error {
		_, err := scrape(ctx, handler)
		return err
	})}
}

// sizing counts the bytes of a scrape.
func sizing(ctx context.Context, name string, handler func() (http.Handler, error)) bench.Subject {
	return bench.Subject{Name: name, Count: func() (float64, error) {
		n, err := scrape(ctx, handler)
		return float64(n) / 1024, err
	}}
}

func scrape(ctx context.Context, handler func() (http.Handler, error)) (int, error) {
	h, err := handler()
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody)
	if err != nil {
		return 0, err
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
