// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// TestServe_ASecondManagerHasItsOwnMetrics: the metrics of a manager are in no
// global registry. It would refuse the metrics of the next one with "duplicate
// metrics collector registration attempted". Both managers end because the API
// server serves no kind.
func TestServe_ASecondManagerHasItsOwnMetrics(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	ctrl.SetLogger(logr.Discard())
	kubeconfig(t, &rest.Config{Host: server.URL})
	for _, which := range []string{"the first", "the second"} {
		f := flags{reconcile: true, address: "127.0.0.1:0"}
		f.manager.Controller.SkipNameValidation = new(true) // the names are in a global variable of controller-runtime
		err := serve(t.Context(), f, environ())
		require.Error(t, err, which)
		assert.NotContains(t, err.Error(), "duplicate metrics collector", which)
	}
}

// kubeconfig lets the program find config.
func kubeconfig(t *testing.T, config *rest.Config) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(file, config))
	t.Setenv("KUBECONFIG", file)
}
