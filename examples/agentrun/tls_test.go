// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheCertificateIsReadAgain: each connection gets the certificate that is
// then in the files, so that a rotation needs no restart.
func TestTheCertificateIsReadAgain(t *testing.T) {
	theirs := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate, and a client that trusts it
	defer theirs.Close()
	made := theirs.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	require.NoError(t, err)
	certFile, keyFile := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]})
	require.NoError(t, os.WriteFile(certFile, certificate, 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))

	p := start(t, environ(), "--reconcile=false", "--metrics-tls-cert-file="+certFile, "--metrics-tls-key-file="+keyFile)
	ask := func() error {
		theirs.Client().CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(p.url, "http:", "https:", 1)+"/healthz", http.NoBody)
		require.NoError(t, err)
		resp, err := theirs.Client().Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	require.NoError(t, ask())
	require.NoError(t, os.WriteFile(certFile, []byte("half written"), 0o600))
	require.Error(t, ask())
	require.NoError(t, os.WriteFile(certFile, certificate, 0o600))
	require.NoError(t, ask())
	assert.Zero(t, p.stop())
}
