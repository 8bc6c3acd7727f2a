// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
)

func TestDocumented(t *testing.T) {
	for name, tc := range map[string]struct {
		source, err string
		want        []rbacv1.PolicyRule
	}{
		"Rules": {
			source: "// Package p is.\n//\n// # RBAC\n//\n// These:\n//\n//\trules:\n//\t- apiGroups: [\"\"]\n//\t  resources: [pods]\n" +
				"//\t  verbs: [get]\n//\n// # When not to use it\n//\n//\tnever()\npackage p\n",
			want: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
		},
		"NoSection": {source: "// Package p is.\n//\n//\trules: []\npackage p\n", err: "no rules under the heading RBAC"},
		"NoComment": {source: "package p\n", err: "no rules under the heading RBAC"},
		"Misspelt":  {source: "// Package p is.\n//\n// # RBAC\n//\n//\trule: []\npackage p\n", err: `unknown field "rule"`},
		"NoGo":      {source: "rules: []\n", err: "expected 'package'"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "doc.go")
			require.NoError(t, os.WriteFile(file, []byte(tc.source), 0o600))
			got, err := rbac.Documented(file)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.ErrorContains(t, err, file)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}
