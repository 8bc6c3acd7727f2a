// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// putBack does what KEDA does until stop is called: it gives the autoscaler its
// target again as soon as that changes.
func (s *stage) putBack(ref autoscalingv2.CrossVersionObjectReference) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	hpas := s.kube.AutoscalingV2().HorizontalPodAutoscalers(s.namespace)
	events, err := hpas.Watch(ctx, metav1.ListOptions{})
	require.NoError(s, err)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"scaleTargetRef": ref}})
	require.NoError(s, err)
	var all sync.WaitGroup
	all.Go(func() {
		for e := range events.ResultChan() {
			h, ok := e.Object.(*autoscalingv2.HorizontalPodAutoscaler)
			if ok && h.Spec.ScaleTargetRef != ref {
				_, err := hpas.Patch(ctx, h.Name, types.MergePatchType, patch, metav1.PatchOptions{})
				assert.NoError(s, err)
			}
		}
	})
	return func() { cancel(); all.Wait() }
}

// TestPlan_StopsIfTheTargetIsPutBack, as KEDA does within a second, and goes on
// once its source has the new target.
//
//req:shows R5
func TestPlan_StopsIfTheTargetIsPutBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := web("web:1")
	s.deploy(d)
	s.autoscale()
	c := s.measure(5)
	s.stopsAndGoesOn(s.migration(), "Rollout")
	s.reaches("web", live.Healthy)
	s.stopsAndGoesOn(s.rollback(d), "Deployment")
	s.runs(map[string]int{"web:1": 5})
	least, _ := s.settled(c, 5)
	assert.Equal(t, 5, least)
}

// stopsAndGoesOn runs a plan while another tool keeps the autoscaler's target,
// and then without it.
func (s *stage) stopsAndGoesOn(p plan.Plan, kind string) {
	s.Helper()
	h, err := s.kube.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).Get(s.Context(), "web", metav1.GetOptions{})
	require.NoError(s, err)
	stop := s.putBack(h.Spec.ScaleTargetRef)
	out, err := s.try(plane.Kubeconfig(), p.String())
	stop()
	require.Error(s, err, out)
	assert.Contains(s, out, "STOP: hpa/web is not as planned")
	left := s.sh("kubectl -n " + s.namespace + " get deployment,rollout -o name")
	assert.Contains(s, left, "deployment")
	assert.Contains(s, left, "rollout")
	s.follow(p.String())
	assert.Equal(s, kind, s.target())
}

// TestPlan_CarriesTheMarksOfHelm there and back: the manifests are rendered,
// and have none.
//
//req:shows R5
func TestPlan_CarriesTheMarksOfHelm(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := web("web:1")
	d.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	d.Annotations = map[string]string{"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": s.namespace}
	s.deploy(d)

	deployments := s.kube.AppsV1().Deployments(s.namespace)
	was, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	there, errs := plan.Migration(was, converted(t, "web:1", rollout.Options{}), nil, plan.Options{})
	require.Empty(t, errs)
	s.follow(there.String())
	u := s.reaches("web", live.Healthy)
	assert.Subset(t, u.GetAnnotations(), d.Annotations)
	assert.Subset(t, u.GetLabels(), d.Labels)

	back, errs := plan.Rollback(u, s.manifest("web:1"), nil, plan.Options{})
	require.Empty(t, errs)
	s.follow(back.String())
	is, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Subset(t, is.Annotations, d.Annotations)
	assert.Subset(t, is.Labels, d.Labels)
}
