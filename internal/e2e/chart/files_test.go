// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/crd"
	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
)

// TestGeneratedFilesAreCurrent: the CRD of the chart is the example's.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	golden(t, filepath.Join(chartDir, "crds/agents.controllerkit.dev_agentruns.yaml"), string(crd.YAML()))
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
