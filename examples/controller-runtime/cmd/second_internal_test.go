// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
)

// TestRun_ASecondManagerHasItsOwnMetrics: the metrics of a manager are in no
// global registry, which would refuse those of the next one with "duplicate
// metrics collector registration attempted". Both managers end because the API
// server serves no kind.
func TestRun_ASecondManagerHasItsOwnMetrics(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	ctrl.SetLogger(logr.Discard())
	for _, which := range []string{"the first", "the second"} {
		options := ctrl.Options{HealthProbeBindAddress: "0"}
		options.Metrics.BindAddress = "0"
		options.Controller.SkipNameValidation = new(true) // the names are in a global variable of controller-runtime
		err := run(t.Context(), &rest.Config{Host: server.URL}, options)
		require.Error(t, err, which)
		assert.NotContains(t, err.Error(), "duplicate metrics collector", which)
	}
}
