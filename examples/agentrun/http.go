// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// listen opens the endpoint's port, with TLS if there is a certificate. It
// reads the files again for each connection, so a rotated certificate is used.
// At the start the files must exist.
func (o *options) listen(ctx context.Context) (net.Listener, error) {
	load := func() (tls.Certificate, error) { return tls.LoadX509KeyPair(o.certFile, o.keyFile) }
	if o.certFile != "" {
		_, err := load()
		if err != nil {
			return nil, fmt.Errorf("--metrics-tls-cert-file, --metrics-tls-key-file: %w", err)
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.metricsAddress)
	if err != nil {
		const text = "--metrics-bind-address: %q is not accepted: %w; " +
			"want host:port such as :8080, port 0 picks a free one"
		return nil, fmt.Errorf(text, o.metricsAddress, err)
	}
	if o.certFile == "" {
		return l, nil
	}
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c, err := load()
			return &c, err
		},
	}), nil
}

// serveHTTP answers /metrics, /healthz (the process is alive) and /readyz (the
// controller is ready) until ctx ends.
func serveHTTP(
	ctx context.Context, l net.Listener, metrics http.Handler, ready func() bool,
) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "runs and Jobs are not listed yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{ // no client keeps a connection forever
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       5 * time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if server.Shutdown(bounded) != nil {
		_ = server.Close() // a client that keeps its connection must not keep the process
	}
	<-served //nolint:errcheck // http.ErrServerClosed
	return nil
}
