// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// client-go answers a 429, and a 5xx with the header Retry-After, by itself: it
// sleeps and sends the request again, up to ten times. A worker would wait all
// that time. Here a reconcile gets the error instead, and the run waits in the
// queue.

// retryAtMost limits what an answer may ask for.
const retryAtMost = time.Minute

type retryAfterKey struct{}

// withRetryAfter returns the context of a reconcile of the run. Its requests
// are not sent again by client-go.
func (b *backoff) withRetryAfter(ctx context.Context, run types.NamespacedName) context.Context {
	keep := func(wait time.Duration) { b.asked.Store(run, wait) }
	return context.WithValue(ctx, retryAfterKey{}, keep)
}

// once is a transport that keeps the header Retry-After from client-go.
type once struct{ next http.RoundTripper }

// sendOnce is for the Wrap method of rest.Config.
func sendOnce(next http.RoundTripper) http.RoundTripper { return &once{next} }

// RoundTrip sends the request. The requests of informers keep the header.
func (o *once) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(request)
	keep, ok := request.Context().Value(retryAfterKey{}).(func(time.Duration))
	if err != nil || !ok {
		return response, err
	}
	seconds, err := strconv.ParseInt(response.Header.Get("Retry-After"), 10, 32)
	if err == nil {
		response.Header.Del("Retry-After")
		keep(min(time.Duration(seconds)*time.Second, retryAtMost))
	}
	return response, nil
}

// WrappedRoundTripper lets apimachinery's helpers find what is below.
func (o *once) WrappedRoundTripper() http.RoundTripper { return o.next }

// backoff says how long a failed run waits: longer each time, and at least as
// long as the API server asked for.
type backoff struct {
	workqueue.TypedRateLimiter[types.NamespacedName]
	asked sync.Map // time.Duration by run, until its reconcile ends
}

func newBackoff() *backoff {
	const (
		least = 200 * time.Millisecond
		most  = 30 * time.Second
	)
	growing := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](least, most)
	return &backoff{TypedRateLimiter: growing}
}

// When is called by the queue for each failure.
func (b *backoff) When(run types.NamespacedName) time.Duration {
	wait := b.TypedRateLimiter.When(run)
	stored, _ := b.asked.LoadAndDelete(run)
	asked, _ := stored.(time.Duration) // zero if the API server did not ask
	return max(wait, asked)
}

// Forget is called by the queue for each success.
func (b *backoff) Forget(run types.NamespacedName) {
	b.asked.Delete(run)
	b.TypedRateLimiter.Forget(run)
}
