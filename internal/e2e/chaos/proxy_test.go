// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	faults  int            // percentage of failing requests
	says    string         // the message of the failures
	counts  map[string]int // by kind
	acts    *behavior      // or nil
}

// newProxy starts a proxy for the world's controller until the test ends.
func newProxy(t *testing.T, w *world) *proxy {
	t.Helper()
	transport, err := rest.TransportFor(w.config)
	require.NoError(t, err)
	target, err := url.Parse(w.config.Host)
	require.NoError(t, err)
	p := &proxy{watches: map[*http.Request]context.CancelFunc{}, counts: map[string]int{}}
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
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	w := newWorld(t)
	w.grant(t)
	between := newProxy(t, w)
	w.start(t, between.config)
	w.ready(ctx, t)
	return ctx, w, between
}

func (p *proxy) serve(through http.Handler, w http.ResponseWriter, r *http.Request) {
	watch := r.URL.Query().Get("watch") != ""
	if watch {
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
	if p.misbehave(through, w, r) {
		return
	}
	answer, pass := p.chooseFault(r, watch)
	switch {
	case answer == nil:
		through.ServeHTTP(w, r)
		return
	case pass: // the API server handles the request, and the answer is lost
		through.ServeHTTP(httptest.NewRecorder(), r)
	}
	if answer.Details != nil && answer.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(answer.Details.RetryAfterSeconds))
	}
	answer.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(answer.Code))
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// chooseFault chooses the answer to a request that fails like at the API server
// or a webhook that quotes its request; nil means none. With pass the API
// server handles the request, and its answer is lost.
func (p *proxy) chooseFault(r *http.Request, watch bool) (answer *metav1.Status, pass bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts["requests"]++
	if rand.IntN(100) >= p.faults {
		return nil, false
	}
	says := "injected: admission webhook denied the request: " + p.says
	broken := apierrors.NewInternalError(errors.New(says))
	kinds := []*apierrors.StatusError{broken, apierrors.NewTooManyRequests(says, 1), apierrors.NewServiceUnavailable(says)}
	if r.Method != http.MethodGet {
		kinds = append(kinds, apierrors.NewConflict(schema.GroupResource{}, "", errors.New(says)))
	}
	if !watch {
		kinds = append(kinds, nil)
	}
	chosen := kinds[rand.IntN(len(kinds))]
	if chosen == nil {
		p.counts["replies lost"]++
		return &broken.ErrStatus, true
	}
	p.counts[string(chosen.ErrStatus.Reason)]++
	return &chosen.ErrStatus, false
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
		p.counts["watches cut"]++
	}
}

// fail lets a percentage of the requests fail from now on, with a message.
func (p *proxy) fail(percent int, says string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.says = percent, says
}

// did returns the number of handled requests of a kind.
func (p *proxy) did() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}
