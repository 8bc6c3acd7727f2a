// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/prom"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

func request(t *testing.T, method, url string) (code int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

//req:shows O1
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := listen(t)
	served := make(chan error, 1)
	ep := endpoint(t, prom.Options{}, 1)
	go func() { served <- ep.Serve(ctx, l) }()
	url := "http://" + l.Addr().String()
	cases := map[string]struct {
		reason, method, path string
		code                 int
	}{
		"Metrics": {"GET /metrics is a scrape.", http.MethodGet, "/metrics", http.StatusOK},
		"Head":    {"A probe may use HEAD.", http.MethodHead, "/metrics", http.StatusOK},
		"Post":    {"Only GET and HEAD are allowed.", http.MethodPost, "/metrics", http.StatusMethodNotAllowed},
		"Root":    {"No other path is served.", http.MethodGet, "/", http.StatusNotFound},
		"Below":   {"No path below /metrics is served.", http.MethodGet, "/metrics/x", http.StatusNotFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, body := request(t, tc.method, url+tc.path)
			assert.Equal(t, tc.code, code, tc.reason)
			if tc.method == http.MethodGet && tc.code == http.StatusOK {
				assert.Contains(t, body, "a_thing_total")
			}
		})
	}
	cancel()
	require.NoError(t, <-served, "the end of ctx is the normal end")
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// A scrape that is running when ctx ends is answered before Serve returns.
func TestServeLetsScrapesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		served, client := hang(ctx, t, release)
		cancel()
		synctest.Wait()
		assert.Empty(t, served, "Serve waits")
		close(release)
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, <-served)
	})
}

// A scrape that does not end does not keep the process from ending.
func TestServeGivesUpOnAScrapeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		served, _ := hang(ctx, t, release)
		start := time.Now()
		cancel()
		require.NoError(t, <-served)
		assert.Equal(t, 5*time.Second, time.Since(start))
		close(release)
	})
}

// hang serves, and asks for a scrape that takes until release.
func hang(ctx context.Context, t *testing.T, release chan struct{}) (served chan error, client net.Conn) {
	t.Helper()
	slow := prometheus.NewRegistry()
	require.NoError(t, slow.Register(slowly(func() { <-release })))
	l := make(pipe, 1)
	served = make(chan error, 1)
	ep := endpoint(t, prom.Options{Gatherers: []prometheus.Gatherer{slow}}, 1)
	go func() { served <- ep.Serve(ctx, l) }()
	client, server := net.Pipe()
	l <- server
	_, err := io.WriteString(client, "GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n")
	require.NoError(t, err)
	synctest.Wait()
	return served, client
}

func TestServeWhenItIsOverAlready(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := listen(t)
	require.NoError(t, endpoint(t, prom.Options{}, 1).Serve(ctx, l))
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// pipe is a listener without a network. Closing it ends Accept.
type pipe chan net.Conn

func (p pipe) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipe) Close() error   { close(p); return nil }
func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

func TestServeReportsABrokenListener(t *testing.T) {
	require.Error(t, endpoint(t, prom.Options{}, 1).Serve(t.Context(), nil))
	l := listen(t)
	require.NoError(t, l.Close())
	err := endpoint(t, prom.Options{}, 1).Serve(t.Context(), l)
	require.ErrorIs(t, err, net.ErrClosed)
	assert.NotErrorIs(t, err, http.ErrServerClosed)
}
