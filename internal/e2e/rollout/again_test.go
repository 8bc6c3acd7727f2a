// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
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

// manifest is the Deployment in a repository.
func (s *stage) manifest(image string) *appsv1.Deployment {
	d := web(image)
	d.Namespace = s.namespace
	return d
}
