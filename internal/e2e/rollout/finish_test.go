// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// inGit is the Deployment web as in a repository: with these variables, and
// without replicas.
func inGit(variables ...string) *appsv1.Deployment {
	d := web("web:1")
	d.Spec.Replicas = nil
	for _, name := range variables {
		d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: name, Value: "x"})
	}
	return d
}

// sync applies an object as a GitOps tool does, without force.
func (s *stage) sync(obj any) {
	s.Helper()
	s.kubectl("apply --server-side --field-manager=gitops -f " + s.file(obj))
}

func (s *stage) variables(workload string) string {
	s.Helper()
	return s.kubectl("get " + workload + " -o 'jsonpath={.spec.template.spec.containers[0].env[*].name} {.spec.replicas}'")
}

// TestPlan_LeavesTheObjectToItsTool: the plan applies as the tool that applies
// the live workload, so a variable that is removed from the repository is
// removed from the pods. No manager keeps the replicas.
//
//req:shows R5
func TestPlan_LeavesTheObjectToItsTool(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.sync(inGit("A", "B"))
	s.kubectl("scale deployment web --replicas=5")
	s.kubectl("rollout status deployment web --timeout=2m")

	s.follow(s.plan("deployment,hpa", "-plan"))
	s.reaches("web", live.Healthy)
	r, errs := rollout.Convert(inGit("A"), rollout.Options{OmitReplicas: true})
	require.Empty(t, errs)
	s.sync(r)
	assert.Equal(t, "A 5", s.variables("rollout/web"))
	r.Spec.Replicas = new(int32(6))
	s.sync(r)
	assert.Equal(t, "A 6", s.variables("rollout/web"))
	s.promote(true)
	s.reaches("web", live.Healthy)

	s.follow(s.plan("rollout,hpa", "-rollback", "-", s.file(inGit("A"))))
	s.sync(inGit())
	assert.Equal(t, " 6", s.variables("deployment/web"))
	d := inGit()
	d.Spec.Replicas = new(int32(5))
	s.sync(d)
	assert.Equal(t, " 5", s.variables("deployment/web"))
}
