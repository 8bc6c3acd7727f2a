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
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/rollout/live"
)

// Who runs a plan is of this group, and has the rights that package plan
// documents, in the namespace of the stage. The server notes what the group
// asks for, a watch when it begins.
const planners = "planners"

const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
  "rules": [{"level": "Metadata", "userGroups": ["` + planners + `"]}, {"level": "None"}]}`

// documented are the rules in the package comment of rollout/plan.
func documented() ([]rbacv1.PolicyRule, error) {
	return rbac.Documented(filepath.Join("..", "..", "..", "rollout", "plan", "doc.go"))
}

// follow runs a plan as one who has the documented rights, and no other.
func (s *stage) follow(runbook string) {
	s.Helper()
	s.shAs(s.asPlanner(), runbook)
}

// asPlanner is the kubeconfig of one who follows plans.
func (s *stage) asPlanner() string {
	s.Helper()
	if s.planner != "" {
		return s.planner
	}
	rules, err := documented()
	require.NoError(s, err)
	name := s.namespace + ":planner"
	require.NoError(s, rbac.Grant(s.Context(), s.kube, s.namespace, planners, name, rules...))
	config, err := plane.User(name, planners)
	require.NoError(s, err)
	s.planner = filepath.Join(s.TempDir(), "planner.kubeconfig")
	require.NoError(s, controlplane.WriteKubeconfig(s.planner, config))
	return s.planner
}

// notNeeded are the documented rights that no plan of this run made use of, by
// the audit log.
func notNeeded() (rights []string, err error) {
	all, err := plane.Requests()
	if err != nil {
		return nil, err
	}
	rules, err := documented()
	return suite.Unused(rules, all), err
}

// TestPlan_WaitsForADeletionThatTakesLong: another controller's finalizer keeps
// the old workload. Without one it is mostly gone before kubectl looks, and
// then nothing needs the right to watch it.
func TestPlan_WaitsForADeletionThatTakesLong(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := web("web:1")
	s.deploy(d)
	s.finalizer("deployment", `["example.com/slow"]`)
	s.waitsForDeletion("deployment", s.plan("deployment", "-plan"))
	s.reaches("web", live.Healthy)
	s.finalizer("rollout", `["example.com/slow"]`)
	s.waitsForDeletion("rollout", s.plan("rollout", "-rollback", "-", s.file(d)))
	s.runs(map[string]int{"web:1": 5})
}

func (s *stage) finalizer(kind, list string) {
	s.Helper()
	s.kubectl("patch " + kind + ` web --type=merge -p '{"metadata":{"finalizers":` + list + "}}'")
}

// waitsForDeletion runs a plan whose old workload has a finalizer, until it is
// gone.
func (s *stage) waitsForDeletion(kind, script string) {
	s.Helper()
	planner := s.asPlanner()
	ended := make(chan error, 1)
	go func() {
		_, err := s.try(planner, script)
		ended <- err
	}()
	s.eventually("the plan watches the "+kind, func(c *assert.CollectT) {
		all, err := plane.Requests()
		require.NoError(c, err)
		require.True(c, slices.ContainsFunc(all, func(r controlplane.Request) bool {
			return r.For.Namespace == s.namespace && r.Kind() == "watch "+kind+"s" && r.Done()
		}))
	})
	require.Empty(s, ended, "the plan has ended before the object is gone")
	s.finalizer(kind, "null")
	require.NoError(s, <-ended)
}
