// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// request is a sent request and its answer.
type request struct {
	method string
	group  string // "events.k8s.io" or "", the core group
	code   int    // 0 without an answer
	body   string
}

// wire records the requests of a client.
type wire struct {
	mu       sync.Mutex
	requests []request
}

// around wraps a transport.
func (w *wire) around(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		sent := request{method: r.Method, body: string(body)}
		if strings.HasPrefix(r.URL.Path, "/apis/events.k8s.io/") {
			sent.group = "events.k8s.io"
		}
		reply, err := next.RoundTrip(r)
		if err == nil {
			sent.code = reply.StatusCode
		}
		w.mu.Lock()
		w.requests = append(w.requests, sent)
		w.mu.Unlock()
		return reply, err
	})
}

// sent returns the requests so far.
func (w *wire) sent() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// codes returns the answers of one group, in order.
func (w *wire) codes(group string) (codes []int) {
	for _, r := range w.sent() {
		if r.group == group {
			codes = append(codes, r.code)
		}
	}
	return codes
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// book is a log with concurrent readers and writers.
type book struct {
	mu    sync.Mutex
	lines []string
}

func (b *book) write(prefix, args string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, prefix+args)
}

// about returns the lines with a word.
func (b *book) about(word string) (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lines {
		if strings.Contains(l, word) {
			lines = append(lines, l)
		}
	}
	return lines
}
