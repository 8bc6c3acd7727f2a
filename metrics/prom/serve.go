// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The limits of Serve: how long a client may take to send a request, and how
// long scrapes may take to end.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 2 * time.Minute
	idleTimeout  = 5 * time.Minute
	grace        = 5 * time.Second
)

// Serve answers GET and HEAD of /metrics on l until ctx ends. Then it closes l,
// waits up to five seconds for running scrapes, and returns nil. It returns an
// error if l is nil, or if l fails before ctx ends. The package comment says how
// to add TLS and authentication.
func (e *Endpoint) Serve(ctx context.Context, l net.Listener) error {
	if l == nil {
		return errors.New("metrics/prom: serve: the listener is nil")
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e)
	server := &http.Server{
		Handler:      mux,
		ReadTimeout:  readTimeout,
		WriteTimeout: writeTimeout,
		IdleTimeout:  idleTimeout,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("metrics/prom: serve: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-served //nolint:errcheck // http.ErrServerClosed, by the line above
	if err != nil {
		return fmt.Errorf("metrics/prom: serve: stop: %w", err)
	}
	return nil
}
