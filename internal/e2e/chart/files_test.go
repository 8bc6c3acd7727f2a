// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/crd"
	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// target is the target of the chart's alerts: the templates replace its job and
// namespace by the release's.
func target() manifest.Target {
	return manifest.Target{Name: "agentrun", Job: "release-job", Namespace: "release-namespace"}
}

// TestGeneratedFilesAreCurrent: the dashboard, the alerts and the CRD of the
// chart are what their sources give.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	pack, err := manifest.New(target())
	require.NoError(t, err)
	for path, want := range map[string][]byte{
		"dashboards/agentrun.json":                     pack.Dashboard(),
		"rules/alerts.yaml":                            pack.Rules(),
		"crds/agents.controllerkit.dev_agentruns.yaml": crd.YAML(),
	} {
		golden(t, filepath.Join(chartDir, path), string(want))
	}
}

// TestTheRoleIsTheExamples: the chart grants what the example's own role does,
// wherever runs are reconciled.
func TestTheRoleIsTheExamples(t *testing.T) {
	documented := parse(t, string(rbac.YAML()))
	want := into[rbacv1.ClusterRole](t, documented.one(t, "ClusterRole/agentrun-controller")).Rules
	for values, roles := range map[string][]string{
		"{}":                                {"Role/ns:r-agentrun-controllers"},
		"controller: {namespaces: [a, b]}":  {"Role/a/ns:r-agentrun-controllers", "Role/b/ns:r-agentrun-controllers"},
		"controller: {allNamespaces: true}": {"ClusterRole/ns:r-agentrun-controllers"},
	} {
		all := render(t, values)
		for _, role := range roles {
			assert.Equal(t, want, into[rbacv1.ClusterRole](t, all.one(t, role)).Rules, role)
		}
	}
}
