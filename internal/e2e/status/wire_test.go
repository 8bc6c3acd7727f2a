// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// request is one HTTP request.
type request struct {
	method string
	path   string // the object and the subresource
	body   string
}

// wire records the requests of a client.
type wire struct {
	mu       sync.Mutex
	requests []request
}

// around puts the wire into a transport.
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
		w.mu.Lock()
		w.requests = append(w.requests, request{r.Method, path.Base(path.Dir(r.URL.Path)) + "/" + path.Base(r.URL.Path), string(body)})
		w.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// sent returns the requests since the last call.
func (w *wire) sent() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.requests
	w.requests = nil
	return sent
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// meddled calls a function before it sends each patch, so that another client
// can write first.
func meddled[T any](patch patchFunc[T], meddle func(patch string)) patchFunc[T] {
	return func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error) {
		meddle(string(data))
		return patch(ctx, name, pt, data, opts, subresources...)
	}
}

// patchFunc is the Patch method of a client, as a client.
type patchFunc[T any] func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)

func (f patchFunc[T]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error) {
	return f(ctx, name, pt, data, opts, subresources...)
}

// via returns a Writer with the settings of w that sends by patch.
func via[T status.Object](patch patchFunc[T], w status.Writer) status.Writer {
	out := status.ForResource(func(string) patchFunc[T] { return patch })
	out.FieldNames, out.Owned, out.FieldManager, out.Heartbeat, out.Retries = w.FieldNames, w.Owned, w.FieldManager, w.Heartbeat, w.Retries
	out.Redact, out.AcceptRestored, out.OnCommit = w.Redact, w.AcceptRestored, w.OnCommit
	return out
}
