// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// addServer adds a server of the metrics and the health checks to the manager,
// which stops it last. If there is a certificate it uses TLS, and reads the
// certificate again when it is rotated.
func (f flags) addServer(ctx context.Context, mgr ctrl.Manager, metrics http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.Handle("GET /healthz", healthz.CheckHandler{Checker: healthz.Ping})
	mux.Handle("GET /readyz", healthz.CheckHandler{Checker: synced(mgr.GetCache())})
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.address)
	if err != nil {
		return fmt.Errorf("--metrics-bind-address: %w", err)
	}
	if f.certDir != "" {
		certFile := filepath.Join(f.certDir, "tls.crt")
		keyFile := filepath.Join(f.certDir, "tls.key")
		certs, err := certwatcher.New(certFile, keyFile)
		if err != nil {
			return fmt.Errorf("--metrics-cert-dir: %w", err)
		}
		err = mgr.Add(certs)
		if err != nil {
			return err
		}
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: certs.GetCertificate,
		})
	}
	return mgr.Add(&manager.Server{
		Name: "metrics", Listener: listener, ShutdownTimeout: new(2 * time.Second),
		Server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute},
	})
}

// synced returns a check that fails until the manager has read what it watches.
// A standby watches too, so that it is ready as well.
func synced(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches have not synced")
		}
		return nil
	}
}
