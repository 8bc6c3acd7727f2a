// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/metrics/mixin"
)

// TestPrometheusOperatorTakesTheManifests shows the monitors of
// examples/operate, and the alerts as a PrometheusRule, to an API server with
// the CRDs of Prometheus Operator, which knows every field. Suite chart shows
// that the same schemas refuse an invalid duration.
//
//req:shows O3
func TestPrometheusOperatorTakesTheManifests(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	installOperatorCRDs(ctx, t)
	stage := plane.NewStage(t)
	apply := func(body string) error {
		_, err := plane.Admin.Run(ctx, []byte(body), "--namespace="+stage.Namespace, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
		return err
	}
	monitors, err := filepath.Glob(filepath.Join("..", "..", "examples", "operate", "*monitor*.yaml"))
	require.NoError(t, err)
	require.Len(t, monitors, 3)
	for _, name := range monitors {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, apply(string(body)), name)
		misspelt := strings.Replace(string(body), "scrapeTimeout", "scrapeTimeOut", 1)
		require.ErrorContains(t, apply(misspelt), "scrapeTimeOut", "the validation is strict")
	}
	alerts, err := mixin.Alerts("agents/runs", stage.Namespace, "v0.1.0")
	require.NoError(t, err)
	spec := strings.ReplaceAll("\n"+strings.TrimSpace(string(alerts)), "\n", "\n  ")
	require.NoError(t, apply("apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: agentrun\nspec:"+spec+"\n"))
}

// installOperatorCRDs installs the CRDs from the operator's module, which
// internal/tools pins.
func installOperatorCRDs(ctx context.Context, t *testing.T) {
	t.Helper()
	module, err := build.ModuleDir(ctx, filepath.Join("..", "tools"), "github.com/prometheus-operator/prometheus-operator")
	require.NoError(t, err)
	args := []string{"apply", "--server-side"}
	for _, kind := range []string{"podmonitors", "servicemonitors", "prometheusrules"} {
		args = append(args, "-f", filepath.Join(module, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+kind+".yaml"))
	}
	_, err = plane.Admin.Run(ctx, nil, args...)
	require.NoError(t, err)
	suite.Eventually(t, "all are served", func(ctx context.Context) bool {
		_, err := plane.Admin.Run(ctx, nil, "get", "podmonitors,servicemonitors,prometheusrules")
		return err == nil
	})
}
