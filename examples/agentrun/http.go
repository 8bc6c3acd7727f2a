// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// serveHTTP answers /metrics, /healthz (the process is alive) and /readyz (the caches are filled) until ctx ends.
func serveHTTP(ctx context.Context, l net.Listener, metrics http.Handler, synced <-chan struct{}) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-synced:
			fmt.Fprintln(w, "ok")
		default:
			http.Error(w, "the caches are not filled yet", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-ctx.Done()
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if server.Shutdown(bounded) != nil {
			_ = server.Close() // a client that does not hang up must not keep the process
		}
	})
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	stopping.Wait()
	return err
}
