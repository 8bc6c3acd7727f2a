// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"
)

// proxy is a proxy for the API server on the loopback interface. It speaks
// HTTP/2 and TLS like the API server, and acts for one user. It can cut
// watches, and answer instead of the API server.
type proxy struct {
	server *httptest.Server
	config *rest.Config // for the controller

	mu      sync.Mutex
	watches map[*http.Request]context.CancelFunc
	hit     int       // requests
	acts    *behavior // or nil
}

// newProxy starts a proxy for the world's controller until the test ends.
func newProxy(t *testing.T, w *world) *proxy {
	t.Helper()
	transport, err := rest.TransportFor(w.config)
	require.NoError(t, err)
	target, err := url.Parse(w.config.Host)
	require.NoError(t, err)
	p := &proxy{watches: map[*http.Request]context.CancelFunc{}}
	through := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // a watch must not wait for a full buffer
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(through, w, r) }))
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections are cut
	p.server.StartTLS()
	t.Cleanup(func() {
		p.cut()
		p.server.CloseClientConnections()
		p.server.Close()
	})
	p.config = &rest.Config{Host: p.server.URL}
	p.config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return p
}

// behindProxy makes a world with a ready controller that reaches the API server
// only through a proxy.
func behindProxy(t *testing.T) (context.Context, *world, *proxy) {
	t.Helper()
	w := newWorld(t)
	between := newProxy(t, w)
	w.start(t, between.config)
	return w.ready(t), w, between
}

func (p *proxy) serve(through http.Handler, w http.ResponseWriter, r *http.Request) {
	if isWatch(r) {
		ctx, cancel := context.WithCancel(r.Context())
		r = r.WithContext(ctx)
		defer p.watching(r, cancel)()
	}
	// Read the whole body before passing it on. The API server denies a request
	// without reading the body, and then the two halves of the proxied stream
	// sometimes wait for each other forever.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if !p.misbehave(through, w, r) {
		through.ServeHTTP(w, r)
	}
}

// watching registers a watch until the returned function is called.
func (p *proxy) watching(r *http.Request, cancel context.CancelFunc) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches[r] = cancel
	return func() {
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, r)
	}
}

// cut ends every watch without an error.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.watches {
		cancel()
	}
}

// did returns how many requests were hit.
func (p *proxy) did() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hit
}
