// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
)

// Who runs a plan is of this group, and has the rights that package plan
// documents, in the namespace of the stage. The server notes what the group
// asks for, a watch when it begins.
const planners = "planners"

const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
  "rules": [{"level": "Metadata", "userGroups": ["` + planners + `"]}, {"level": "None"}]}`

// documented are the rules in the package comment of rollout/plan.
func documented(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	rules, err := rbac.Documented(filepath.Join("..", "..", "..", "rollout", "plan", "doc.go"))
	require.NoError(t, err)
	return rules
}

// follow runs a plan as one who has the documented rights, and no other.
func (s *stage) follow(runbook string) {
	s.Helper()
	s.shAs(s.planner, runbook)
}

// grant makes the kubeconfig of one who follows plans.
func (s *stage) grant() {
	s.Helper()
	name := s.namespace + ":planner"
	require.NoError(s, rbac.Grant(s.Context(), s.kube, s.namespace, planners, name, documented(s.T)...))
	config, err := plane.User(name, planners)
	require.NoError(s, err)
	s.planner = filepath.Join(s.TempDir(), "planner.kubeconfig")
	require.NoError(s, controlplane.WriteKubeconfig(s.planner, config))
}

// requests are those of the one who follows plans.
func (s *stage) requests() []controlplane.Request {
	s.Helper()
	all, err := plane.Requests()
	require.NoError(s, err)
	return slices.DeleteFunc(all, func(r controlplane.Request) bool { return r.For.Namespace != s.namespace })
}

// followSlowly runs a plan whose old workload has another controller's
// finalizer, until it is gone. Without one it is mostly gone before kubectl
// looks, and then nothing needs the right to watch it.
func (s *stage) followSlowly(kind, runbook string) {
	s.Helper()
	finalizers := func(list string) {
		s.kubectl("patch " + kind + ` web --type=merge -p '{"metadata":{"finalizers":` + list + "}}'")
	}
	finalizers(`["example.com/slow"]`)
	ended := make(chan error, 1)
	go func() {
		_, err := s.try(s.planner, runbook)
		ended <- err
	}()
	s.eventually("the plan watches the "+kind, func(c *assert.CollectT) {
		require.True(c, slices.ContainsFunc(s.requests(), func(r controlplane.Request) bool {
			return r.Kind() == "watch "+kind+"s" && r.Done()
		}))
	})
	require.Empty(s, ended, "the plan has ended before the object is gone")
	finalizers("null")
	require.NoError(s, <-ended)
}
