// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/proompteng/controllerkit/metrics"
)

// Transport is for the Wrap method of rest.Config. It records each request with
// verb, group, resource, class of status code, and the duration until the
// response headers (for a watch: until it is established). A request that
// client-go retries is recorded each time. Status codes become "1xx" to "5xx",
// except "401", "403" and "429". The answer 429 to an eviction is "4xx",
// because it is usually a budget that forbids it, not throttling. A request
// without a response is "canceled" when its context was and "error" otherwise.
// With a nil m the transport is used unchanged; a nil transport is
// [http.DefaultTransport].
func Transport(m *metrics.Metrics) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		if next == nil {
			next = http.DefaultTransport
		}
		if m == nil {
			return next
		}
		return &transport{m: m, next: next}
	}
}

type transport struct {
	m    *metrics.Metrics
	next http.RoundTripper
}

// WrappedRoundTripper lets apimachinery's helpers find the TLS configuration
// and the dialer below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip sends the request and records it.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := t.next.RoundTrip(req)
	took := time.Since(start)
	r := classify(req)
	r.Code = code(req.Context(), resp, err)
	if r.Code == throttled && r.Resource == eviction {
		r.Code = "4xx"
	}
	t.m.ClientRequest(req.Context(), r, took)
	return resp, err //nolint:wrapcheck // a transport is transparent
}

const (
	throttled = "429"
	eviction  = "pods/eviction"
)

// code is the class of an answer. 401, 403 and 429 are separate classes: the
// controller's token, its rights and the API server's throttling. The context
// is checked too, because net/http returns its cause, which may be any error.
func code(ctx context.Context, resp *http.Response, err error) string {
	if err != nil || resp == nil {
		if errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled) {
			return "canceled"
		}
		return "error"
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return "401"
	case http.StatusForbidden:
		return "403"
	case http.StatusTooManyRequests:
		return throttled
	}
	switch resp.StatusCode / 100 {
	case 1:
		return "1xx"
	case 2:
		return "2xx"
	case 3:
		return "3xx"
	case 4:
		return "4xx"
	case 5:
		return "5xx"
	}
	return "error"
}
