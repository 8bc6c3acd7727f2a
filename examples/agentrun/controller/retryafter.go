// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
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

// retryAfter is how long the API server asked one reconcile to wait, in
// seconds.
type retryAfter struct{ seconds atomic.Int64 }

// wait returns zero if the API server did not ask.
func (r *retryAfter) wait() time.Duration {
	return min(time.Duration(r.seconds.Load())*time.Second, retryAtMost)
}

type retryAfterKey struct{}

// withRetryAfter returns the context of a reconcile. Its requests are not sent
// again by client-go.
func withRetryAfter(ctx context.Context) (context.Context, *retryAfter) {
	asked := new(retryAfter)
	return context.WithValue(ctx, retryAfterKey{}, asked), asked
}

// once is a transport that keeps the header Retry-After from client-go.
type once struct{ next http.RoundTripper }

// sendOnce is for the Wrap method of rest.Config.
func sendOnce(next http.RoundTripper) http.RoundTripper { return &once{next} }

// RoundTrip sends the request. The requests of informers have no retryAfter.
func (o *once) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(request)
	asked, ok := request.Context().Value(retryAfterKey{}).(*retryAfter)
	if err != nil || !ok {
		return response, err
	}
	seconds, err := strconv.ParseInt(response.Header.Get("Retry-After"), 10, 32)
	if err == nil {
		response.Header.Del("Retry-After")
		asked.seconds.Store(seconds)
	}
	return response, nil
}

// WrappedRoundTripper lets apimachinery's helpers find what is below.
func (o *once) WrappedRoundTripper() http.RoundTripper { return o.next }

// backoff says how long a failed run waits: longer each time, and at least as
// long as the API server asked for.
type backoff struct {
	workqueue.TypedRateLimiter[types.NamespacedName]
	asked sync.Map // time.Duration by run, until When reads it
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
	asked, ok := stored.(time.Duration)
	if ok {
		wait = max(wait, asked)
	}
	return wait
}
