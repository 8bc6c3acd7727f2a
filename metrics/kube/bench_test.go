// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics/kube"
)

// BenchmarkQueueHolding adds, hands out and finishes one item of a queue while
// workers hold others.
func BenchmarkQueueHolding(b *testing.B) {
	m, _ := newSet(b)
	queues := map[string]func() workqueue.TypedInterface[int]{
		"ClientGo": func() workqueue.TypedInterface[int] {
			return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[int]())
		},
		"CountedOnly": func() workqueue.TypedInterface[int] { return kube.NewQueue[int](nil, nil) },
		"Ours":        func() workqueue.TypedInterface[int] { return kube.NewQueue[int](m.Controller("h"), nil) },
	}
	for name, newQueue := range queues {
		for _, held := range []int{4, 100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", name, held), func(b *testing.B) {
				q := newQueue()
				defer q.ShutDown()
				for i := range held {
					q.Add(-1 - i)
					q.Get()
				}
				b.ReportAllocs()
				for b.Loop() {
					q.Add(1)
					item, _ := q.Get()
					q.Done(item)
				}
			})
		}
	}
}

// BenchmarkQueue is one item through a queue: added, handed out, done.
func BenchmarkQueue(b *testing.B) {
	m, _ := newSet(b)
	queues := map[string]func() workqueue.TypedInterface[int]{
		"WithoutMetrics": func() workqueue.TypedInterface[int] {
			return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[int]())
		},
		"CountedOnly": func() workqueue.TypedInterface[int] { return kube.NewQueue[int](nil, nil) },
		"Ours":        func() workqueue.TypedInterface[int] { return kube.NewQueue[int](m.Controller("c"), nil) },
		"Provider": func() workqueue.TypedInterface[int] {
			return workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[int](),
				workqueue.TypedRateLimitingQueueConfig[int]{Name: "d", MetricsProvider: kube.QueueProvider(m)})
		},
	}
	for name, newQueue := range queues {
		b.Run(name, func(b *testing.B) {
			q := newQueue()
			defer q.ShutDown()
			b.ReportAllocs()
			for b.Loop() {
				q.Add(1)
				item, _ := q.Get()
				q.Done(item)
			}
		})
	}
}

func BenchmarkTransport(b *testing.B) {
	m, _ := newSet(b)
	answer := &http.Response{StatusCode: http.StatusOK}
	t := kube.Transport(m)(roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil }))
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPatch, "/apis/batch/v1/namespaces/ci/jobs/run-1/status?fieldManager=x", http.NoBody)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = t.RoundTrip(r) //nolint:bodyclose // there is none
	}
}
