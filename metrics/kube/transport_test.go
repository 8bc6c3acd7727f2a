// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/metrics/kube"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportRecordsTheClassOfTheAnswer(t *testing.T) {
	cases := map[string]struct {
		reason string
		status int
		err    error
		want   string
	}{
		"Success":     {"The label is a class, not a code.", 201, nil, "2xx"},
		"Continue":    {"Switching protocols is 1xx.", 101, nil, "1xx"},
		"NotModified": {"A redirect or an unchanged answer is 3xx.", 304, nil, "3xx"},
		"Token":       {"A token that has expired has its own class.", 401, nil, "401"},
		"Forbidden":   {"Missing rights have a separate class.", 403, nil, "403"},
		"Conflict":    {"An error of the client is 4xx.", 409, nil, "4xx"},
		"Throttled":   {"The API server's throttling has its own class; 4.. matches both.", 429, nil, "429"},
		"Broken":      {"An error of the server is 5xx.", 503, nil, "5xx"},
		"Strange":     {"A code outside of 100 to 599 is an error.", 999, nil, "error"},
		"Failed":      {"A request without an answer is an error.", 0, errors.New("connection refused"), "error"},
		"Canceled":    {"The caller gave up: not a failure.", 0, context.Canceled, "canceled"},
		"Deadline":    {"The caller waited until the deadline: a failure.", 0, context.DeadlineExceeded, "error"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, ep := newSet(t)
				var answer *http.Response
				if tc.err == nil {
					answer = &http.Response{StatusCode: tc.status, Body: http.NoBody}
				}
				next := roundTripper(func(*http.Request) (*http.Response, error) {
					<-time.After(2 * time.Second)
					return answer, tc.err
				})
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "/apis/batch/v1/namespaces/ci/jobs/a/status", http.NoBody)
				resp, err := kube.Transport(m)(next).RoundTrip(r)
				assert.Same(t, answer, resp, "the answer is passed on")
				if resp != nil {
					require.NoError(t, resp.Body.Close())
				}
				assert.Equal(t, tc.err, err, "the error is passed on unchanged")
				assert.Equal(t, "2", scrape(t, ep, "request_duration")[`controller_client_request_duration_seconds_sum{code="`+tc.want+
					`",group="batch",resource="jobs/status",verb="patch"}`], tc.reason)
			})
		})
	}
}

// The API server answers 429 to an eviction that a PodDisruptionBudget forbids.
func TestTransport_EvictionThatABudgetForbidsIsNotThrottling(t *testing.T) {
	m, ep := newSet(t)
	const evict = "/api/v1/namespaces/ci/pods/a/eviction"
	for _, answer := range []struct {
		path   string
		status int
	}{
		{evict, http.StatusTooManyRequests},
		{evict, http.StatusCreated},
		{"/api/v1/namespaces/ci/pods", http.StatusTooManyRequests},
	} {
		next := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: answer.status, Body: http.NoBody}, nil
		})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, answer.path, http.NoBody)
		resp, err := kube.Transport(m)(next).RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	assert.Equal(t, map[string]string{
		`controller_client_request_duration_seconds_count{code="4xx",group="",resource="pods/eviction",verb="create"}`: "1",
		`controller_client_request_duration_seconds_count{code="2xx",group="",resource="pods/eviction",verb="create"}`: "1",
		`controller_client_request_duration_seconds_count{code="429",group="",resource="pods",verb="create"}`:          "1",
	}, scrape(t, ep, "request_duration_seconds_count"))
	assert.Equal(t, map[string]string{
		`controller_client_requests_total{code="4xx",group="",resource="pods/eviction",verb="create"}`: "1",
		`controller_client_requests_total{code="2xx",group="",resource="pods/eviction",verb="create"}`: "1",
		`controller_client_requests_total{code="429",group="",resource="pods",verb="create"}`:          "1",
	}, scrape(t, ep, "controller_client_requests_total"))
}

// net/http fails with the cause of the cancellation, which may not wrap
// context.Canceled.
func TestTransportOfARequestThatWasGivenUp(t *testing.T) {
	m, ep := newSet(t)
	moved := errors.New("the leadership went to another")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	defer close(ended)
	next := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		cancel(moved)
		<-ended
		return nil, net.ErrClosed
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/api/v1/pods", http.NoBody)
	require.NoError(t, err)
	resp, err := kube.Transport(m)(next).RoundTrip(r)
	if resp != nil {
		require.NoError(t, resp.Body.Close())
	}
	require.ErrorIs(t, err, moved)
	require.NotErrorIs(t, err, context.Canceled)
	assert.Equal(t, map[string]string{
		`controller_client_request_duration_seconds_count{code="canceled",group="",resource="pods",verb="list"}`: "1",
	}, scrape(t, ep, "request_duration_seconds_count"))
}

// The wrapper is used as client-go uses it, over a real connection.
func TestTransportFitsRestConfig(t *testing.T) {
	m, ep := newSet(t)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	config.Wrap(kube.Transport(m))
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/namespaces/ci/secrets/token", http.NoBody)
	require.NoError(t, err)
	resp, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	got := scrape(t, ep, "request_duration_seconds_count")
	assert.Equal(t, map[string]string{`controller_client_request_duration_seconds_count{code="4xx",group="",resource="secrets",verb="get"}`: "1"}, got)
	for series := range scrape(t, ep, "") {
		assert.False(t, strings.Contains(series, "token") || strings.Contains(series, `"ci"`), series)
	}
}

func TestTransportIsTransparent(t *testing.T) {
	m, _ := newSet(t)
	next := &http.Transport{}
	assert.Same(t, next, kube.Transport(nil)(next), "without metrics nothing is wrapped")
	wrapped, ok := kube.Transport(m)(next).(interface{ WrappedRoundTripper() http.RoundTripper })
	require.True(t, ok, "apimachinery looks for the TLS configuration below")
	assert.Same(t, next, wrapped.WrappedRoundTripper())
	assert.Same(t, http.DefaultTransport, kube.Transport(nil)(nil))
}
