// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
)

// TestPhaseOf_DoesNotTakeAnOldPhaseForTheNewTemplate watches a Rollout while a
// quota keeps the controller from the new template, and while it changes in
// other ways. The controller writes the new generation first, and the rest
// later. No version of the Rollout is Paused or Healthy by the pods of another
// template.
//
//req:shows R3 R5
func TestPhaseOf_DoesNotTakeAnOldPhaseForTheNewTemplate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.started(converted(t, "web:1", rollout.Options{}))
	allow := s.refuse()
	first := s.get("web").GetResourceVersion()
	to := func(image string, replicas int32, paused bool) {
		r := converted(t, image, rollout.Options{})
		r.Spec.Replicas, r.Spec.Paused = &replicas, paused
		s.apply(r)
	}
	finish := func() {
		s.reaches("web", rollout.Paused)
		s.promote(true)
		s.reaches("web", rollout.Healthy)
	}
	to("web:2", 5, false)
	_, message := rollout.PhaseOf(typed(t, s.reaches("web", rollout.Degraded)), 0)
	require.Contains(t, message, "exceeded quota")
	assert.NotContains(t, s.images(), "web:2")
	allow()
	finish()

	to("web:1", 3, false) // fewer pods, and a new template
	finish()
	to("web:2", 2, false) // fewer pods, and the template before
	finish()
	to("web:2", 2, true)
	s.reaches("web", rollout.Paused)
	to("web:1", 2, false) // no longer paused, and the template before
	finish()
	s.comparePhases(s.since(first))
}

// refuse has the API server refuse new ReplicaSets in the namespace, until the
// function that it returns is called. No controller writes the status of the
// quota here.
func (s *stage) refuse() (allow func()) {
	s.Helper()
	s.kubectl("create quota none --hard=count/replicasets.apps=0,count/secrets=0")
	s.kubectl(`patch quota none --subresource=status --type=merge -p '{"status":{
		"hard":{"count/replicasets.apps":"0","count/secrets":"0"},
		"used":{"count/replicasets.apps":"0","count/secrets":"0"}}}'`)
	s.eventually("the API server has the quota", func(c *assert.CollectT) {
		_, err := s.try(plane.Kubeconfig(), "kubectl -n "+s.namespace+" create secret generic asked --dry-run=server")
		require.Error(c, err)
	})
	return func() { s.kubectl("delete quota none") }
}

// since returns the versions of the Rollout web after this one.
func (s *stage) since(version string) (seen []*unstructured.Unstructured) {
	s.Helper()
	last := s.get("web").GetResourceVersion()
	w, err := s.rollouts.Watch(s.Context(), metav1.ListOptions{FieldSelector: "metadata.name=web", ResourceVersion: version})
	require.NoError(s, err)
	defer w.Stop()
	for event := range w.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		require.True(s, ok, "%v", event)
		seen = append(seen, u)
		if u.GetResourceVersion() == last {
			return seen
		}
	}
	require.Fail(s, "the watch has ended")
	return nil
}

// comparePhases compares the phase of each version with the template that the status
// is of.
func (s *stage) comparePhases(seen []*unstructured.Unstructured) {
	s.Helper()
	require.NotEmpty(s, seen)
	sets, err := s.kube.AppsV1().ReplicaSets(s.namespace).List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	images := map[string]string{}
	for i := range sets.Items {
		images[sets.Items[i].Labels["rollouts-pod-template-hash"]] = sets.Items[i].Spec.Template.Spec.Containers[0].Image
	}
	for _, u := range seen {
		phase, _ := rollout.PhaseOf(typed(s, u), 0)
		if phase != rollout.Healthy && phase != rollout.Paused || pauseSeen(s.T, u) {
			continue
		}
		containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
		require.NoError(s, err)
		hash, _, err := unstructured.NestedString(u.Object, "status", "currentPodHash")
		require.NoError(s, err)
		assert.Equal(s, containers[0].(map[string]any)["image"], images[hash], "%s of generation %d: %v", phase, u.GetGeneration(), u.Object["status"])
	}
}

// pauseSeen reports whether the controller has said again that the Rollout is
// paused. It does so also for a pause of the template before, until it looks at
// the new one, and nothing in the status shows that.
func pauseSeen(t *testing.T, u *unstructured.Unstructured) bool {
	t.Helper()
	conditions, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	require.NoError(t, err)
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition := c.(map[string]any)
		return condition["type"] == "Progressing" && condition["reason"] == "RolloutPaused"
	})
}
