// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

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
	c.mu.Lock()
	c.now = w
	c.mu.Unlock()
	out, err := c.try(p.String())
	require.Error(t, err)
	assert.Contains(t, out, "STOP: Rollout web is gone, and Deployment web does not exist")
}

// halfway reports whether o is a Rollout in the middle of a canary.
func halfway(o map[string]any) bool {
	status, _ := o["status"].(map[string]any)
	return status["stableRS"] != status["currentPodHash"]
}
