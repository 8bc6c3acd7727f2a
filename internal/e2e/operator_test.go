// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestPrometheusOperatorTakesTheManifests shows the manifests of
// metrics/manifest to an API server with the CRDs of Prometheus Operator, which
// knows every field. Suite chart shows that the same schemas refuse an invalid
// duration.
//
//req:shows O3
func TestPrometheusOperatorTakesTheManifests(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	installOperatorCRDs(ctx, t)
	stage := plane.NewStage(t)
	apply := func(body []byte) error {
		_, err := plane.Admin.Run(ctx, body, "--namespace="+stage.Namespace, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
		return err
	}
	for name, target := range map[string]manifest.Target{
		"plain": {},
		"full": {
			Namespace: stage.Namespace, Labels: map[string]string{"release": "prometheus"}, Job: "agents/runs", SampleLimit: 20_000,
			Selector: map[string]string{"app.kubernetes.io/name": "agentrun", "app.kubernetes.io/component": "metrics"},
			Interval: 90 * time.Second, Timeout: 1500 * time.Millisecond, Path: "/custom/metrics", Folder: "Controllers: agents #1",
			RunbookURL: "https://runbooks.example.com/?page={alert}",
			Edit: func(r *manifest.Rule) {
				r.Labels = map[string]string{"team": "agents"}
				r.For = 90 * time.Minute
			},
			Access: manifest.Access{
				TLS: true, ServerName: "agentrun.agents.svc", CA: manifest.SecretKey{Name: "tls", Key: "ca.crt"}, Token: manifest.SecretKey{Name: "scrape", Key: "token"},
			},
		},
		"kubebuilder": {Access: manifest.Access{
			TLS: true, InsecureSkipVerify: true, TokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
		}},
	} {
		target.Name = name
		pack, err := manifest.New(target)
		require.NoError(t, err)
		for _, body := range [][]byte{pack.ServiceMonitor(), pack.PrometheusRule(), pack.DashboardConfigMap()} {
			require.NoError(t, apply(body), name)
		}
		misspelt := strings.Replace(string(pack.ServiceMonitor()), "honorLabels", "honourLabels", 1)
		assert.ErrorContains(t, apply([]byte(misspelt)), "honourLabels", "the validation is strict")
	}
}

// installOperatorCRDs installs the CRDs from the operator's module, which
// internal/tools pins.
func installOperatorCRDs(ctx context.Context, t *testing.T) {
	t.Helper()
	module, err := build.ModuleDir(ctx, filepath.Join("..", "tools"), "github.com/prometheus-operator/prometheus-operator")
	require.NoError(t, err)
	args := []string{"apply", "--server-side"}
	for _, kind := range []string{"servicemonitors", "prometheusrules"} {
		args = append(args, "-f", filepath.Join(module, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+kind+".yaml"))
	}
	_, err = plane.Admin.Run(ctx, nil, args...)
	require.NoError(t, err)
	suite.Eventually(t, "both are served", func(ctx context.Context) bool {
		_, err := plane.Admin.Run(ctx, nil, "get", "servicemonitors,prometheusrules")
		return err == nil
	})
}
