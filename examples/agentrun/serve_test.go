// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWithoutReconcilingNoClusterIsNeeded: --reconcile=false serves the
// endpoint, and never looks for a cluster.
func TestWithoutReconcilingNoClusterIsNeeded(t *testing.T) {
	p := start(t, environ(), "--reconcile=false", "--kubeconfig=does/not/exist")
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		status, body := p.get(t, path)
		assert.Equal(t, http.StatusOK, status, path)
		assert.NotContains(t, body, "controller_reconciles_total", "the process has no controller")
	}
	assert.Zero(t, p.stop(), p.log.String())
}

// TestNoClientKeepsAConnection that it does not use.
func TestNoClientKeepsAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipe{connections: make(chan net.Conn, 1), closed: make(chan struct{})}
		client, server := net.Pipe()
		l.connections <- server
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- serveHTTP(ctx, l, http.NotFoundHandler(), nil) }()
		_, err := io.WriteString(client, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
		require.NoError(t, err)
		require.NoError(t, client.SetReadDeadline(time.Now().Add(time.Hour)))
		answer, err := io.ReadAll(client)
		require.NoError(t, err, "the server closes it")
		assert.Contains(t, string(answer), "200 OK")
		stop()
		require.NoError(t, <-ended)
	})
}

// TestServeHTTP_EndsWithItsPort: the caller then ends the process.
func TestServeHTTP_EndsWithItsPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := serveHTTP(t.Context(), dead{&pipe{closed: make(chan struct{})}}, http.NotFoundHandler(), nil)
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

// pipe listens to connections that are not sockets.
type pipe struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	close(p.closed)
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.TCPAddr{} }

// dead is a pipe that accepts no connection.
type dead struct{ *pipe }

func (dead) Accept() (net.Conn, error) { return nil, net.ErrClosed }

// inProcess is the program, run by the test itself.
type inProcess struct {
	url  string
	log  *lines
	stop func() (code int)
}

// start runs the program until the test ends; it returns once the endpoint is
// there.
func start(t *testing.T, lookup func(string) (string, bool), args ...string) *inProcess {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &inProcess{log: new(lines)}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append(args, "--log-format=json", "--metrics-bind-address=127.0.0.1:0"), lookup, io.Discard, p.log)
	}()
	p.stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	t.Cleanup(func() { p.stop() })
	require.Eventually(t, func() bool {
		for _, line := range p.log.json() {
			if address, ok := line["address"].(string); ok {
				p.url = "http://" + address
			}
		}
		return p.url != ""
	}, time.Minute, 5*time.Millisecond, "the program says where it listens")
	return p
}

func (p *inProcess) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// json is the output so far, without the lines that are not JSON.
func (l *lines) json() (all []map[string]any) {
	for line := range bytes.Lines([]byte(l.String())) {
		var v map[string]any
		if json.Unmarshal(line, &v) == nil {
			all = append(all, v)
		}
	}
	return all
}
