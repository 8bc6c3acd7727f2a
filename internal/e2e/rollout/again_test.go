// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// migration is the plan from the live Deployment web.
func (s *stage) migration() plan.Plan {
	s.Helper()
	d, err := s.kube.AppsV1().Deployments(s.namespace).Get(s.Context(), "web", metav1.GetOptions{})
	require.NoError(s, err)
	r, errs := rollout.Convert(d, rollout.Options{})
	require.Empty(s, errs)
	p, errs := plan.Migration(d, r, s.hpas(), plan.Options{})
	require.Empty(s, errs)
	return p
}

// rollback is the plan from the live Rollout web.
func (s *stage) rollback(to *appsv1.Deployment) plan.Plan {
	s.Helper()
	to = to.DeepCopy()
	to.Namespace = s.namespace
	p, errs := plan.Rollback(s.get("web"), to, s.hpas(), plan.Options{})
	require.Empty(s, errs)
	return p
}

func (s *stage) hpas() []unstructured.Unstructured {
	s.Helper()
	list, err := s.scalers.List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	return list.Items
}

// target is the kind that the autoscaler scales.
func (s *stage) target() string {
	s.Helper()
	kind, _, err := unstructured.NestedString(s.hpas()[0].Object, "spec", "scaleTargetRef", "kind")
	require.NoError(s, err)
	return kind
}

// part is a plan that was interrupted after n of its steps.
func part(p plan.Plan, n int) string {
	p.Steps = p.Steps[:n]
	return p.String()
}

// changing are the numbers of the steps that change the cluster. After any
// other step the cluster is the same as before it.
func changing(p plan.Plan) (steps []int) {
	for i, s := range p.Steps {
		if s.Verb != "check" && s.Verb != "wait" {
			steps = append(steps, i+1)
		}
	}
	return steps
}

// TestPlan_InterruptedAfterEachStep begins again each time, and gets one step
// further. In the end all is as without the interruptions.
//
//req:shows R5
func TestPlan_InterruptedAfterEachStep(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := web("web:1")
	s.deploy(d)
	c := s.measure(5)
	p := s.migration()
	for _, n := range changing(p) {
		s.follow(part(p, n))
	}
	s.follow(p.String())
	s.reaches("web", live.Healthy)
	s.runs(map[string]int{"web:1": 5})
	s.capacity("there", c, 10)

	c.reset()
	p = s.rollback(d)
	for _, n := range changing(p) {
		s.follow(part(p, n))
	}
	s.follow(p.String())
	s.runs(map[string]int{"web:1": 5})
	s.capacity("back", c, 10)
	_, err := s.rollouts.Get(t.Context(), "web", metav1.GetOptions{})
	require.Error(t, err)
}

// TestRollback_StopsAfterAPromotion: only the status shows it.
//
//req:shows R5
func TestRollback_StopsAfterAPromotion(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.started(converted(t, "web:1", rollout.Options{}))
	s.apply(converted(t, "web:2", rollout.Options{}))
	u := s.reaches("web", live.Paused)
	p, errs := plan.Rollback(u, s.manifest("web:1"), nil, plan.Options{AllowTemplateChange: true})
	require.Empty(t, errs)
	s.promote(false)
	s.reaches("web", live.Healthy)
	out, err := s.try(plane.Kubeconfig(), p.String())
	require.Error(t, err)
	assert.Contains(t, out, "STOP: rollout/web is not as planned")
	s.runs(map[string]int{"web:2": 5})
}

// manifest is the Deployment in a repository.
func (s *stage) manifest(image string) *appsv1.Deployment {
	d := web(image)
	d.Namespace = s.namespace
	return d
}
