// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// migration is the plan from the live Deployment web.
func (s *stage) migration(m plan.Method) plan.Plan {
	s.Helper()
	d, err := s.kube.AppsV1().Deployments(s.namespace).Get(s.Context(), "web", metav1.GetOptions{})
	require.NoError(s, err)
	r, errs := rollout.Convert(d, rollout.Options{})
	require.Empty(s, errs)
	p, errs := plan.Migration(d, r, s.hpas(), plan.Options{Method: m})
	require.Empty(s, errs)
	return p
}

// rollback is the plan from the live Rollout web.
func (s *stage) rollback(m plan.Method, to *appsv1.Deployment) plan.Plan {
	s.Helper()
	if m == plan.Reference {
		var err error
		to, err = s.kube.AppsV1().Deployments(s.namespace).Get(s.Context(), "web", metav1.GetOptions{})
		require.NoError(s, err)
	}
	to = to.DeepCopy()
	to.Namespace = s.namespace
	p, errs := plan.Rollback(s.get("web"), to, s.hpas(), plan.Options{Method: m})
	require.Empty(s, errs)
	return p
}

func (s *stage) hpas() []autoscalingv2.HorizontalPodAutoscaler {
	s.Helper()
	list, err := s.kube.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	return list.Items
}

// part is a plan that was interrupted after n of its steps.
func part(p plan.Plan, n int) string {
	p.Actions = p.Actions[:n]
	return p.String()
}

// changing are the numbers of the steps that change the cluster. After any
// other step the cluster is the same as before it.
func changing(p plan.Plan) (steps []int) {
	for i, a := range p.Actions {
		if !strings.Contains(a.Command, "STOP: ") && !strings.Contains(a.Command, "--dry-run") && !strings.HasPrefix(a.Command, "cat >") {
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
	for _, m := range []plan.Method{plan.SideBySide, plan.Adopt, plan.Reference} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			d := web("web:1")
			s.deploy(d)
			c := s.measure(5)
			p := s.migration(m)
			for _, n := range changing(p) {
				s.follow(part(p, n))
			}
			s.follow(p.String())
			s.reaches("web", live.Healthy)
			s.runs(map[string]int{"web:1": 5})
			s.capacity("there", c, 10)

			c.reset()
			p = s.rollback(m, d)
			for _, n := range changing(p) {
				s.follow(part(p, n))
			}
			s.follow(p.String())
			s.runs(map[string]int{"web:1": 5})
			s.capacity("back", c, 10)
			_, err := s.rollouts.Get(t.Context(), "web", metav1.GetOptions{})
			require.Error(t, err)
		})
	}
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
	p, errs := plan.Rollback(u, s.manifest("web:1"), nil, plan.Options{Method: plan.Adopt, AllowTemplateChange: true})
	require.Empty(t, errs)
	s.promote(false)
	s.reaches("web", live.Healthy)
	out, err := s.try(plane.Kubeconfig(), p.String())
	require.Error(t, err)
	assert.Contains(t, out, "STOP: Rollout web has changed")
	s.runs(map[string]int{"web:2": 5})
}

// manifest is the Deployment in a repository.
func (s *stage) manifest(image string) *appsv1.Deployment {
	d := web(image)
	d.Namespace = s.namespace
	return d
}
