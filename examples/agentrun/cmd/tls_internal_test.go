// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	certutil "k8s.io/client-go/util/cert"

	ctrl "sigs.k8s.io/controller-runtime"
)

// TestServe_UsesTheCertificate of a mounted Secret.
func TestServe_UsesTheCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), cert, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(cert))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()

	f := flags{address: freeAddress(t.Context(), t), certDir: dir}
	ctrl.SetLogger(logr.Discard())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, f, environ()) }()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+f.address+"/healthz", http.NoBody)
		require.NoError(c, err)
		resp, err := (&http.Client{Transport: transport}).Do(req)
		require.NoError(c, err)
		require.NoError(c, resp.Body.Close())
		assert.Equal(c, http.StatusOK, resp.StatusCode)
	}, time.Minute, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
}

// TestServe_NamesTheFlagOfItsEndpoint that it cannot use.
func TestServe_NamesTheFlagOfItsEndpoint(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	err := serve(t.Context(), flags{address: "8080"}, environ())
	require.ErrorContains(t, err, "--metrics-bind-address")
	err = serve(t.Context(), flags{address: "127.0.0.1:0", certDir: t.TempDir()}, environ())
	require.ErrorContains(t, err, "--metrics-cert-dir")
}
