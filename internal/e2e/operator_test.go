// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestPrometheusOperatorTakesTheManifests applies the manifests of
// metrics/manifest to an API server with the CRDs of Prometheus Operator. Every
// field is known, and the API server stores it unchanged. The same schemas
// refuse invalid durations, so the test would notice them.
//
//req:shows O3
func TestPrometheusOperatorTakesTheManifests(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	installOperatorCRDs(ctx, t)
	stage := plane.NewStage(t)
	apply := func(body []byte) error {
		_, err := plane.Admin.Run(ctx, body, "--namespace="+stage.Namespace, "apply", "--server-side", "--validate=strict", "-f", "-")
		return err
	}
	stored := func(what string, into any) {
		out, err := plane.Admin.Run(ctx, nil, "--namespace="+stage.Namespace, "get", what, "-o", "json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(out), into))
	}

	targets := map[string]manifest.Target{
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
	}
	targets["kubebuilder"] = manifest.Target{Access: manifest.Access{
		TLS: true, InsecureSkipVerify: true, TokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
	}}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			target.Name = name
			pack, err := manifest.New(target)
			require.NoError(t, err)
			require.NoError(t, apply(pack.ServiceMonitor()))
			require.NoError(t, apply(pack.PrometheusRule()))
			require.NoError(t, apply(pack.DashboardConfigMap()))

			var rule struct {
				Spec struct {
					Groups []struct {
						Rules []struct {
							Alert, Expr, For    string
							Labels, Annotations map[string]string
						}
					}
				}
			}
			stored("prometheusrule/"+name, &rule)
			require.Len(t, rule.Spec.Groups, 1)
			require.Len(t, rule.Spec.Groups[0].Rules, len(pack.Alerts()))
			for n, a := range pack.Alerts() {
				r := rule.Spec.Groups[0].Rules[n]
				assert.Equal(t, []string{a.Name, a.Expr, a.Severity}, []string{r.Alert, r.Expr, r.Labels["severity"]})
				assert.Equal(t, map[string]string{"summary": a.Summary, "description": a.Description, "runbook_url": a.RunbookURL}, r.Annotations)
			}
			var configMap struct{ Data map[string]string }
			stored("configmap/"+name+"-dashboard", &configMap)
			assert.JSONEq(t, string(pack.Dashboard()), configMap.Data[pack.UID()+".json"])
		})
	}

	pack, err := manifest.New(manifest.Target{Name: "refused"})
	require.NoError(t, err)
	monitor, rule := string(pack.ServiceMonitor()), string(pack.PrometheusRule())
	for name, tc := range map[string]struct{ body, old, with, want, reason string }{
		"a wait in words":      {rule, `for: 5m`, `for: soon`, "should match", "Prometheus would refuse all its rules"},
		"an interval in words": {monitor, `interval: 30s`, `interval: often`, "should match", "the target would not be scraped"},
		"a misspelt field":     {monitor, "honorLabels", "honourLabels", "honourLabels", "strict validation makes the test above meaningful"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(tc.body, tc.old, tc.with, 1)
			require.NotEqual(t, tc.body, bad)
			assert.ErrorContains(t, apply([]byte(bad)), tc.want, tc.reason)
		})
	}
}

// installOperatorCRDs installs the CRDs from the operator's module, which
// internal/tools pins.
func installOperatorCRDs(ctx context.Context, t *testing.T) {
	t.Helper()
	module, err := build.ModuleDir(ctx, filepath.Join("..", "tools"), "github.com/prometheus-operator/prometheus-operator")
	require.NoError(t, err)
	for _, kind := range []string{"servicemonitors", "prometheusrules"} {
		file := filepath.Join(module, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+kind+".yaml")
		_, err := plane.Admin.Run(ctx, nil, "apply", "--server-side", "-f", file)
		require.NoError(t, err)
		require.EventuallyWithT(t, func(c *assert.CollectT) { // kubectl wait fails immediately if the condition does not exist yet
			_, err := plane.Admin.Run(ctx, nil, "wait", "--for=condition=Established", "--timeout=10s", "-f", file)
			require.NoError(c, err)
		}, time.Minute, 200*time.Millisecond)
	}
}
