// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"os"
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
// chart are what their sources give. With -update it writes them.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	pack, err := manifest.New(target())
	require.NoError(t, err)
	for path, want := range map[string][]byte{
		"dashboards/agentrun.json":                     pack.Dashboard(),
		"rules/alerts.yaml":                            pack.Rules(),
		"crds/agents.controllerkit.dev_agentruns.yaml": crd.YAML(),
	} {
		path = filepath.Join(chartDir, path)
		if *update {
			require.NoError(t, os.WriteFile(path, want, 0o644))
		}
		is, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(is), "%s is not current: run make generate", path)
	}
}

// TestTheRoleIsTheExamples: the chart grants what the example's own role does,
// and the rights to elect a leader.
func TestTheRoleIsTheExamples(t *testing.T) {
	documented := parse(t, string(rbac.YAML()))
	want := into[rbacv1.ClusterRole](t, documented.one(t, "ClusterRole/agentrun-controller")).Rules
	all := render(t, "controller: {allNamespaces: true}")
	assert.Equal(t, want, into[rbacv1.ClusterRole](t, all.one(t, "ClusterRole/ns:r-agentrun-controllers")).Rules)

	for values, namespaces := range map[string][]string{"{}": {""}, "controller: {namespaces: [a, b]}": {"a/", "b/"}} {
		all = render(t, values)
		for _, namespace := range namespaces {
			assert.Equal(t, want, into[rbacv1.Role](t, all.one(t, "Role/"+namespace+"ns:r-agentrun-controllers")).Rules)
			all.one(t, "RoleBinding/"+namespace+"ns:r-agentrun-controllers")
		}
		for key := range all {
			assert.NotContains(t, key, "Cluster", "who works in some namespaces has no rights in all")
		}
	}

	all = render(t, "controllers: {replicaCount: 1, leaderElection: {enabled: false}}")
	for key := range all {
		assert.NotContains(t, key, "leader-election", "the election is off")
	}
	all = render(t, "controller: {events: {enabled: false}}")
	for _, rule := range into[rbacv1.Role](t, all.one(t, "Role/ns:r-agentrun-controllers")).Rules {
		assert.NotContains(t, rule.Resources, "events", "the controller writes none")
	}
}
