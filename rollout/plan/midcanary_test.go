// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestRollback_AdoptInterruptedInMidCanary: the pods that the Rollout leaves
// have two images, and the plan knows one of them. After any step it goes on.
//
//req:shows R5
func TestRollback_AdoptInterruptedInMidCanary(t *testing.T) {
	u := live(t, nil)
	u.Object["status"].(map[string]any)["currentPodHash"] = "b"
	from := rolledOut(t, u, true)
	of := func(hash, image string, replicas int) set {
		return set{Name: "web-" + hash, Owner: "u", Image: image, Replicas: replicas, Labels: map[string]string{"app": "web", "rollouts-pod-template-hash": hash}}
	}
	from.Sets = []set{of("a", "web:0", 4), of("b", "web:1", 1)}
	p, errs := plan.Rollback(u, manifest(), []autoscalingv2.HorizontalPodAutoscaler{scaler("web", "Rollout", "web")}, plan.Options{Method: plan.Adopt, AllowTemplateChange: true})
	require.Empty(t, errs)

	c := newCluster(t, from)
	c.runAll(p)
	want := workloads(c.world())
	require.Equal(t, "5", want["pods of new-deployment web:1"], "the Deployment has adopted and replaced them: %v", want)
	c.set(from)
	for i, a := range p.Actions {
		c.run(a.Command)
		interrupted := c.world()
		c.runAll(p)
		assert.Equal(t, want, workloads(c.world()), "after step %d, %s", i+1, a.Do)
		assert.Equal(t, 5, c.world().Least, "after step %d, %s", i+1, a.Do)
		c.set(interrupted)
	}

	// Fewer pods than the Rollout had stop it: someone else takes them.
	c.set(from)
	for _, a := range p.Actions[:index(p, "--cascade=orphan")+1] {
		c.run(a.Command)
	}
	w := c.world()
	require.Empty(t, w.Objects["rollout/web"])
	w.Sets[0].Replicas = 3
	c.freeze(w)
	out, err := c.try(p.String())
	require.Error(t, err)
	assert.Contains(t, out, "STOP: Rollout web is gone, and Deployment web does not exist")
}

// halfway reports whether o is a Rollout in the middle of a canary.
func halfway(o map[string]any) bool {
	status, _ := o["status"].(map[string]any)
	return status["stableRS"] != status["currentPodHash"]
}

func (s set) containers() []any {
	list := []any{map[string]any{"name": "web", "image": s.Image}}
	if s.Proxy != "" {
		list = append(list, map[string]any{"name": "proxy", "image": s.Proxy})
	}
	return list
}

// TestRollback_RefusesAnUnseenCanary: the new image was applied, and the
// controller is slow, is down, which is when people go back, or refuses it.
func TestRollback_RefusesAnUnseenCanary(t *testing.T) {
	for name, status := range map[string]map[string]any{
		"NotObserved": {"observedGeneration": "1", "phase": "Healthy", "currentPodHash": "a", "stableRS": "a"},
		"InvalidSpec": {
			"observedGeneration": "2", "phase": "Degraded", "currentPodHash": "a", "stableRS": "a",
			"conditions": []any{map[string]any{"type": "InvalidSpec", "status": "True", "message": "x"}},
		},
	} {
		for _, m := range []plan.Method{plan.SideBySide, plan.Adopt} {
			u := live(t, func(r *rollout.Rollout) { r.Spec.Template.Spec.Containers[0].Image = "web:2" })
			u.Object["status"] = status
			to := manifest()
			to.Spec.Template.Spec.Containers[0].Image = "web:2"
			_, errs := plan.Rollback(u, to, nil, plan.Options{Method: m})
			assert.Equal(t, []string{"live.status.stableRS"}, paths(errs), "%s %s: the pods run web:1", m, name)
		}
	}
}

// TestRollback_RefusesAnUnseenWorkload: with a workloadRef the new image
// changes the generation of the Deployment, and not the Rollout's.
func TestRollback_RefusesAnUnseenWorkload(t *testing.T) {
	for seen, want := range map[string][]string{"4": {"live.status.stableRS"}, "5": {}} {
		u := live(t, refers("never"))
		u.Object["status"].(map[string]any)["workloadObservedGeneration"] = seen
		to := running()
		to.Generation = 5
		to.Spec.Template.Spec.Containers[0].Image = "web:2"
		_, errs := plan.Rollback(u, to, nil, plan.Options{Method: plan.Reference})
		assert.Equal(t, want, paths(errs), "the controller has seen generation %s of 5", seen)
	}
}

// TestRollback_RefusesAPausedRollout: while spec.paused is true the controller
// takes note of a generation without its template.
func TestRollback_RefusesAPausedRollout(t *testing.T) {
	u := live(t, func(r *rollout.Rollout) { r.Spec.Template.Spec.Containers[0].Image = "web:2" })
	require.NoError(t, unstructured.SetNestedField(u.Object, true, "spec", "paused"))
	to := manifest()
	to.Spec.Template.Spec.Containers[0].Image = "web:2"
	for _, m := range []plan.Method{plan.SideBySide, plan.Adopt} {
		_, errs := plan.Rollback(u, to, nil, plan.Options{Method: m})
		require.Equal(t, []string{"live.status.stableRS"}, paths(errs), m)
		assert.Contains(t, errs[0].Detail, "Resume it first")
	}
}

// TestRollback_AdoptInterruptedWithAnotherOrder of the containers.
//
//req:shows R5
func TestRollback_AdoptInterruptedWithAnotherOrder(t *testing.T) {
	proxy := corev1.Container{Name: "proxy", Image: "proxy:1"}
	u := live(t, func(r *rollout.Rollout) {
		r.Spec.Template.Spec.Containers = append(r.Spec.Template.Spec.Containers, proxy)
	})
	to := manifest()
	to.Spec.Template.Spec.Containers = append([]corev1.Container{proxy}, to.Spec.Template.Spec.Containers...)
	p, errs := plan.Rollback(u, to, nil, plan.Options{Method: plan.Adopt})
	require.Empty(t, errs)
	from := rolledOut(t, u, false)
	for i := range from.Sets {
		from.Sets[i].Proxy = "proxy:1"
	}
	c := newCluster(t, from)
	for _, a := range p.Actions[:index(p, "--cascade=orphan")+1] {
		c.run(a.Command)
	}
	out, err := c.try(p.String()) // again from its start
	require.NoError(t, err, "%s", out)
}

// TestRollback_ReferenceRunLateInMidCanary: the plan was made while the Rollout
// was healthy. Then an annotation of the Deployment's template changed. The
// Rollout's generation and the images are the same.
//
//req:shows R5
func TestRollback_ReferenceRunLateInMidCanary(t *testing.T) {
	u := live(t, refers("never"))
	p, errs := plan.Rollback(u, manifest(), nil, plan.Options{Method: plan.Reference})
	require.Empty(t, errs)
	w := rolledOut(t, u, false)
	w.Objects["rollout/web"]["status"].(map[string]any)["currentPodHash"] = "b"
	c := newCluster(t, w)
	before := c.world()
	_, err := c.try(p.String())
	require.Error(t, err)
	assert.JSONEq(t, jsonText(before), jsonText(c.world()), "nothing is touched")
}

// TestRollback_NumbersAsJSONReadsThem: encoding/json and sigs.k8s.io/yaml make
// float64 of them.
func TestRollback_NumbersAsJSONReadsThem(t *testing.T) {
	u := live(t, nil)
	u.Object["status"].(map[string]any)["observedGeneration"] = strconv.FormatInt(u.GetGeneration(), 10)
	data, err := json.Marshal(u.Object)
	require.NoError(t, err)
	u.Object = nil
	require.NoError(t, json.Unmarshal(data, &u.Object))
	_, errs := plan.Rollback(u, manifest(), nil, plan.Options{Method: plan.SideBySide})
	assert.Empty(t, errs)
}
