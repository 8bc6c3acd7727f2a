// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestNoPlanLosesAnEndpoint runs each plan in both directions, as the command
// prints it and a shell runs it: never fewer ready endpoints than replicas, nor
// more than the method says.
//
//req:shows R5
func TestNoPlanLosesAnEndpoint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method      plan.Method
		there, back int // of five, at most
	}{{plan.Adopt, 8, 8}, {plan.SideBySide, 10, 10}, {plan.Reference, 10, 10}} {
		t.Run(string(tc.method), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			d := slow(web("web:1"))
			d.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(3)) // three at a time, or either way takes half a minute
			s.deploy(d)
			c := s.measure(5)
			s.follow(s.plan("deployment,hpa", "-plan", string(tc.method)))
			s.reaches("web", live.Healthy)
			s.runs(map[string]int{"web:1": 5})
			s.capacity("there", c, tc.there)

			c.reset()
			s.back(tc.method, d)
			s.runs(map[string]int{"web:1": 5})
			s.capacity("back", c, tc.back)
			s.deployed(5)
			list, err := s.rollouts.List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			assert.Empty(t, list.Items)
		})
	}
}

func (s *stage) capacity(way string, c *capacity, atMost int) {
	s.Helper()
	least, most := s.settled(c, 5)
	s.Logf("%s: of 5 ready endpoints at least %d, at most %d", way, least, most)
	assert.Equal(s, 5, least, way)
	assert.LessOrEqual(s, most, atMost, way)
}

// back runs the plan that goes back to the Deployment; for Reference that is
// the one in the cluster.
func (s *stage) back(m plan.Method, to *appsv1.Deployment, args ...string) {
	s.Helper()
	if m == plan.Reference {
		s.follow(s.plan("rollout,hpa,deployment", "-plan", string(m), "-rollback"))
		return
	}
	s.follow(s.plan("rollout,hpa", append([]string{"-plan", string(m), "-rollback"}, append(args, "-", s.file(to))...)...))
}

// TestRollback_MidCanaryLosesNoEndpoint: two ReplicaSets are without an owner
// then, and both are adopted.
//
//req:shows R5
func TestRollback_MidCanaryLosesNoEndpoint(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.started(converted(t, "web:1", rollout.Options{}))
	s.apply(converted(t, "web:2", rollout.Options{}))
	s.reaches("web", live.Paused)
	s.runs(map[string]int{"web:2": 1, "web:1": 4})
	c := s.measure(5)
	s.back(plan.Adopt, web("web:1"), "-allow-template-change")
	s.runs(map[string]int{"web:1": 5})
	s.capacity("back from the middle of a canary", c, 6)
}

// TestRollback_OfEachScaleDown scales down in each way that the controller
// knows, and goes back by the plan. At the first revision the controller would
// scale a Deployment that it has scaled down back to 0. Progressively there are
// 7 to 10 pods, depending on how busy the controllers are.
//
//req:shows R5
func TestRollback_OfEachScaleDown(t *testing.T) {
	t.Parallel()
	for scaleDown, left := range map[string]int32{"onsuccess": 0, "progressively": 0, "never": 5} {
		t.Run(scaleDown, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.deploy(web("web:1"))
			c := s.measure(5)
			r := converted(t, "web:1", rollout.Options{})
			r.Spec.Template, r.Spec.WorkloadRef = nil, &rollout.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", ScaleDown: scaleDown}
			s.apply(r)
			s.reaches("web", live.Healthy)
			s.deployed(left)
			least, most := s.settled(c, 5+int(left))
			t.Logf("there: of 5 ready endpoints at least %d, at most %d", least, most)
			assert.Equal(t, 5, least)
			assert.LessOrEqual(t, most, 10)

			c.reset()
			s.back(plan.Reference, nil)
			s.runs(map[string]int{"web:1": 5})
			s.capacity("back", c, 10)
		})
	}
}

// TestMigration_RunAgainKeepsTheStableVersion: a runbook that ended at a wait
// is run again when the Rollout has its first ReplicaSet. An adopted ReplicaSet
// is an old revision like any other, so the first change is a canary.
//
//req:shows R5
func TestMigration_RunAgainKeepsTheStableVersion(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deploy(web("web:1"))
	runbook := s.plan("deployment", "-plan", "Adopt")
	s.follow(runbook)
	stable := s.stableSet()
	s.follow(runbook)
	assert.Equal(t, stable, s.stableSet())
	s.runs(map[string]int{"web:1": 5})

	r := converted(t, "web:2", rollout.Options{})
	s.sh("kubectl -n " + s.namespace + " apply --server-side --validate=strict -f " + s.file(r))
	s.reaches("web", live.Paused)
	assert.Equal(t, stable, s.stableSet())
	s.runs(map[string]int{"web:2": 1, "web:1": 4})
	s.promote(false)
	s.reaches("web", live.Healthy)
	s.runs(map[string]int{"web:2": 5})
}

// stableSet is the ReplicaSet of the Rollout's stable version, which the
// controller finds by this label.
func (s *stage) stableSet() string {
	s.Helper()
	hash := s.stable()
	sets, err := s.kube.AppsV1().ReplicaSets(s.namespace).List(s.Context(), metav1.ListOptions{LabelSelector: "rollouts-pod-template-hash=" + hash})
	require.NoError(s, err)
	require.Len(s, sets.Items, 1, hash)
	return sets.Items[0].Name
}

// TestTheNaiveSwitchIsAnOutage in both directions, and is seen as one: the
// tests above would see theirs.
//
//req:shows R5
func TestTheNaiveSwitchIsAnOutage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := web("web:1")
	d.Spec.Template.Annotations = map[string]string{readyAfter: "15s"} // longer than a slow machine takes to remove the old pods
	r, errs := rollout.Convert(d, rollout.Options{})
	require.Empty(t, errs)
	s.deploy(d)
	c := s.measure(5)
	kubectl := "kubectl -n " + s.namespace

	s.sh(kubectl + " apply --server-side -f " + s.file(r) + "; " + kubectl + " delete deployment web")
	s.outage(c)
	s.reaches("web", live.Healthy)
	c.reset()
	s.sh(kubectl + " apply --server-side -f " + s.file(d) + "; " + kubectl + " delete rollout web")
	s.outage(c)
	s.deployed(5)
}

// TestTheReferenceOfUpstream follows the documentation of Argo Rollouts: a
// workloadRef with scaleDown progressively, and for the way back the Deployment
// is scaled up first. There it loses nothing. The way back ends at its first
// step while the Rollout is at its first revision: the controller puts the
// Deployment to 0 again.
func TestTheReferenceOfUpstream(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := slow(web("web:1"))
	d.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(3)) // as for the plans
	r, errs := rollout.Convert(d, rollout.Options{})
	require.Empty(t, errs)
	s.deploy(d)
	c := s.measure(5)
	r.Spec.Template, r.Spec.WorkloadRef = nil, &rollout.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", ScaleDown: "progressively"}
	s.apply(r)
	s.reaches("web", live.Healthy)
	s.deployed(0)
	s.capacity("there", c, 10)

	s.sh("kubectl -n " + s.namespace + " scale deployment web --replicas=5")
	s.deployed(0)
	s.reaches("web", live.Healthy)
}

// deployed waits until the Deployment wants and has n pods.
func (s *stage) deployed(n int32) {
	s.Helper()
	s.eventually("the Deployment is scaled", func(c *assert.CollectT) {
		d, err := s.kube.AppsV1().Deployments(s.namespace).Get(s.Context(), "web", metav1.GetOptions{})
		require.NoError(c, err)
		require.Equal(c, []int32{n, n}, []int32{*d.Spec.Replicas, d.Status.Replicas})
		require.Equal(c, d.Generation, d.Status.ObservedGeneration)
	})
	s.Attr("deployment-pods", strconv.Itoa(int(n))) // make compare reads the last one
}

// outage waits until not one endpoint is ready, and then until all are again.
func (s *stage) outage(c *capacity) {
	s.Helper()
	s.eventually("no endpoint is ready", func(t *assert.CollectT) {
		c.mu.Lock()
		defer c.mu.Unlock()
		require.Zero(t, c.least)
	})
	s.settled(c, 5)
}

// TestTheAutoscalerFollows: it is handed over, not doubled, and scales what it
// is handed to.
//
//req:shows R5
func TestTheAutoscalerFollows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deploy(web("web:1"))
	s.autoscale()
	before := s.hpas()[0]
	c := s.measure(5)
	s.follow(s.plan("deployment,hpa", "-plan", "Adopt"))
	s.capacity("there", c, 6)
	assert.Equal(t, plan.Retarget(&before, rollout.GVK()).Spec, s.hpas()[0].Spec)

	s.atLeast("7") // it found the Rollout, and its selector
	s.reaches("web", live.Healthy)
	s.runs(map[string]int{"web:1": 7})
	s.settled(c, 7) // the endpoints follow the pods by a moment

	// The rollback keeps the replicas that the autoscaler has set, not the
	// manifest's.
	c.reset()
	s.back(plan.SideBySide, web("web:1"))
	least, _ := s.settled(c, 7)
	assert.Equal(t, 7, least)
	assert.Equal(t, "Deployment", s.hpas()[0].Spec.ScaleTargetRef.Kind)
}
