// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noretry stops client-go from making a request again by itself. After
// a 429 or a 5xx that asks for time it sleeps, and makes the request again up
// to ten times, without returning. Its typed clients have no option for it.
package noretry

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// A Guard is for the requests of one goroutine, one after another. Call Context
// before Begin and Answered.
type Guard struct {
	answered *atomic.Bool // of one context: a late answer to an earlier one does not count
}

// Context returns a context for requests. It calls cancel, the function that
// ends ctx, if an answered request is made again.
func (g *Guard) Context(ctx context.Context, cancel func()) context.Context {
	answered := new(atomic.Bool)
	g.answered = answered
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { answered.Store(true) },
		GetConn: func(string) {
			if answered.Load() {
				cancel()
			}
		},
		// net/http may still write the request to an idle connection of HTTP/1,
		// which no other request uses. HTTP/2 looks at the context first.
		GotConn: func(got httptrace.GotConnInfo) {
			c, ok := got.Conn.(*tls.Conn)
			if !ok || !answered.Load() {
				return
			}
			if c.ConnectionState().NegotiatedProtocol != "h2" {
				_ = c.SetWriteDeadline(time.Unix(1, 0)) // net/http then closes it
			}
		},
	})
}

// Begin is called before each request.
func (g *Guard) Begin() { g.answered.Store(false) }

// Answered reports whether the API server has answered since Begin. If the
// request has timed out nevertheless, the API server asked for time.
func (g *Guard) Answered() bool { return g.answered.Load() }
