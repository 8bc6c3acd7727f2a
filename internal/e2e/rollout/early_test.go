// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// early is a cause of an error that comes before the controller writes the
// status of a new template. status.phase is then of the version before.
type early struct {
	reason string
	begin  func(*stage) (end func())
	change func(*rollout.Rollout)
	phase  live.Phase // until the end of the cause
	says   string
}

func earlyErrors() map[string]early {
	none := func(*rollout.Rollout) {}
	return map[string]early{
		"policy": {"A policy refuses the ReplicaSet.", func(s *stage) func() { return s.refuse("web:2") }, none, live.Degraded, "no such image"},
		"label": {"The ReplicaSet gets an illegal label.", func(s *stage) func() {
			return func() { s.apply(converted(s.T, "web:2", rollout.Options{})) }
		}, func(r *rollout.Rollout) {
			r.Spec.Strategy.Canary.CanaryMetadata = map[string]any{"labels": map[string]any{"track": "not legal"}}
		}, live.Degraded, "is invalid"},
		"taken": {"Another ReplicaSet has the name. The controller reports it in its log alone.", (*stage).taken, none, live.NotObserved, "has seen generation 3 of 4"},
	}
}

// TestPhaseOf_DoesNotTakeAnOldPhaseForTheNewTemplate watches a Rollout while a
// cause keeps the controller from the new template, and after it. No version of
// the Rollout is Paused or Healthy by the pods of another template. No plan
// goes back from it, and the wait of a plan does not end.
//
//req:shows R3 R5
func TestPhaseOf_DoesNotTakeAnOldPhaseForTheNewTemplate(t *testing.T) {
	t.Parallel()
	installed(t)
	for name, row := range earlyErrors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.started(converted(t, "web:1", rollout.Options{}))
			end := row.begin(s)
			seen := s.watched()
			r := converted(t, "web:2", rollout.Options{})
			row.change(r)
			s.apply(r)
			s.eventually("the controller has tried", func(c *assert.CollectT) {
				phase, message := live.PhaseOf(s.get("web"))
				require.Equal(c, row.phase, phase, message)
				require.Contains(c, message, row.says)
			})
			assert.NotContains(t, s.images(), "web:2", row.reason)
			s.isNotReleased("web:2", row.reason)
			end()
			s.reaches("web", live.Paused)
			s.promote(true)
			s.reaches("web", live.Healthy)
			s.sh(s.untilHealthy())
			s.judge(seen(), row.reason)
		})
	}
}

// TestPhaseOf_DoesNotTakeAnOldPhaseAfterAChange: nothing is refused. The
// controller writes the new generation first, and the rest later.
//
//req:shows R3
func TestPhaseOf_DoesNotTakeAnOldPhaseAfterAChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.started(converted(t, "web:1", rollout.Options{}))
	seen := s.watched()
	to := func(image string, replicas int32, paused bool) {
		r := converted(t, image, rollout.Options{})
		r.Spec.Replicas, r.Spec.Paused = &replicas, paused
		s.apply(r)
	}
	to("web:2", 3, false) // fewer pods, and a new template
	s.reaches("web", live.Paused)
	s.promote(true)
	s.reaches("web", live.Healthy)
	to("web:1", 2, false) // fewer pods, and the template before
	s.reaches("web", live.Paused)
	s.promote(true)
	s.reaches("web", live.Healthy)
	to("web:1", 2, true)
	s.reaches("web", live.Paused)
	to("web:2", 2, false) // no longer paused, and the template before
	s.reaches("web", live.Paused)
	s.promote(true)
	s.reaches("web", live.Healthy)
	s.judge(seen(), "the phase is of the template before")
}

// watched collects the versions of the Rollout web from now on, until the
// function that it returns is called.
func (s *stage) watched() func() []*unstructured.Unstructured {
	s.Helper()
	w, err := s.rollouts.Watch(s.Context(), metav1.ListOptions{FieldSelector: "metadata.name=web", ResourceVersion: s.get("web").GetResourceVersion()})
	require.NoError(s, err)
	all := make(chan []*unstructured.Unstructured, 1)
	go func() {
		var seen []*unstructured.Unstructured
		for event := range w.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == watch.Modified {
				seen = append(seen, u)
			}
		}
		all <- seen
	}()
	return func() []*unstructured.Unstructured {
		w.Stop()
		return <-all
	}
}

// judge compares the phase of each version with the template that the status
// is of.
func (s *stage) judge(seen []*unstructured.Unstructured, reason string) {
	s.Helper()
	require.NotEmpty(s, seen)
	sets, err := s.kube.AppsV1().ReplicaSets(s.namespace).List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	images := map[string]string{}
	for i := range sets.Items {
		images[sets.Items[i].Labels["rollouts-pod-template-hash"]] = sets.Items[i].Spec.Template.Spec.Containers[0].Image
	}
	for _, u := range seen {
		phase, _ := live.PhaseOf(u)
		if phase != live.Healthy && phase != live.Paused || pauseSeen(s.T, u) {
			continue
		}
		containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
		require.NoError(s, err)
		hash, _, err := unstructured.NestedString(u.Object, "status", "currentPodHash")
		require.NoError(s, err)
		assert.Equal(s, containers[0].(map[string]any)["image"], images[hash], "%s: %s of generation %d: %v", phase, reason, u.GetGeneration(), u.Object["status"])
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

// taken gives the name that the controller wants to another ReplicaSet.
// A policy that keeps the controller from it shows the name.
func (s *stage) taken() (end func()) {
	s.Helper()
	allow := s.refuse("web:2")
	s.apply(converted(s.T, "web:2", rollout.Options{}))
	_, message := live.PhaseOf(s.reaches("web", live.Degraded))
	name := regexp.MustCompile(`replica set "([^"]+)"`).FindStringSubmatch(message)
	require.Len(s, name, 2, message)
	s.apply(converted(s.T, "web:1", rollout.Options{}))
	s.reaches("web", live.Healthy)
	sets := s.kube.AppsV1().ReplicaSets(s.namespace)
	_, err := sets.Create(s.Context(), emptySet(name[1], "other:1"), metav1.CreateOptions{})
	require.NoError(s, err)
	allow()
	return func() {
		s.Helper()
		require.NoError(s, sets.Delete(s.Context(), name[1], metav1.DeleteOptions{}))
		// The controller does not try again by itself. It updates the Rollout
		// too, so a patch every few moments would make its update a conflict.
		looks := 0
		s.eventually("the controller takes the name", func(c *assert.CollectT) {
			if looks%50 == 0 { // each five seconds
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"try":"%d"}}}`, looks)
				_, err := s.rollouts.Patch(s.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "nudge"})
				require.NoError(c, err)
			}
			looks++
			phase, message := live.PhaseOf(s.get("web"))
			require.Equal(c, live.Paused, phase, message)
		})
	}
}

func emptySet(name, image string) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "asked"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
			},
		},
	}
}
