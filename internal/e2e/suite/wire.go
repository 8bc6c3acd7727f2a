// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
)

// RoundTrip is a function as a transport.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Request is a sent request and its answer.
type Request struct {
	Method, Path, Body string
	Code               int // 0 without an answer
}

// Wire records the requests of a client.
type Wire struct {
	mu       sync.Mutex
	requests []Request
}

// Around wraps a transport.
func (w *Wire) Around(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		sent := Request{Method: r.Method, Path: r.URL.Path, Body: string(body)}
		reply, err := next.RoundTrip(r)
		if err == nil {
			sent.Code = reply.StatusCode
		}
		w.mu.Lock()
		w.requests = append(w.requests, sent)
		w.mu.Unlock()
		return reply, err
	})
}

// Sent returns the requests so far.
func (w *Wire) Sent() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// Take returns them and forgets them.
func (w *Wire) Take() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.requests
	w.requests = nil
	return sent
}
