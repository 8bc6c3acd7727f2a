// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestNoPlanLosesAnEndpoint runs the plan in both directions, as the command
// prints it and a shell runs it: never fewer ready endpoints than replicas, nor
// more than twice as many.
//
//req:shows R5
func TestNoPlanLosesAnEndpoint(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := slow(web("web:1"))
	d.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(3)) // three at a time, or either way takes half a minute
	s.deploy(d)
	c := s.measure(5)
	s.follow(s.plan("deployment,hpa", "-plan"))
	s.reaches("web", live.Healthy)
	s.runs(map[string]int{"web:1": 5})
	s.capacity("there", c, 10)

	c.reset()
	s.back(d)
	s.runs(map[string]int{"web:1": 5})
	s.capacity("back", c, 10)
	s.deployed(5)
	list, err := s.rollouts.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}

func (s *stage) capacity(way string, c *capacity, atMost int) {
	s.Helper()
	least, most := s.settled(c, 5)
	s.Logf("%s: of 5 ready endpoints at least %d, at most %d", way, least, most)
	assert.Equal(s, 5, least, way)
	assert.LessOrEqual(s, most, atMost, way)
}

// back runs the plan that goes back to the Deployment.
func (s *stage) back(to *appsv1.Deployment, args ...string) {
	s.Helper()
	s.follow(s.plan("rollout,hpa", append(append([]string{"-rollback"}, args...), "-", s.file(to))...))
}

// TestRollback_MidCanaryLosesNoEndpoint: the pods run two versions then.
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
	s.back(web("web:1"), "-allow-template-change")
	s.runs(map[string]int{"web:1": 5})
	s.capacity("back from the middle of a canary", c, 10)
}

// TestMigration_IsFollowedByACanary: the first change after it.
//
//req:shows R5
func TestMigration_IsFollowedByACanary(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deploy(web("web:1"))
	runbook := s.plan("deployment", "-plan")
	s.follow(runbook)
	stable := s.stable()
	s.follow(runbook)
	assert.Equal(t, stable, s.stable())
	s.runs(map[string]int{"web:1": 5})

	r := converted(t, "web:2", rollout.Options{})
	s.sh("kubectl -n " + s.namespace + " apply --server-side --validate=strict --field-manager=rollout.test -f " + s.file(r))
	s.reaches("web", live.Paused)
	assert.Equal(t, stable, s.stable())
	s.runs(map[string]int{"web:2": 1, "web:1": 4})
	s.promote(false)
	s.reaches("web", live.Healthy)
	s.runs(map[string]int{"web:2": 5})
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
// workloadRef with scaleDown progressively, and to return, the Deployment is
// scaled up first. There it loses nothing. The return ends at its first step
// while the Rollout is at its first revision: the controller puts the
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
	s.follow(s.plan("deployment,hpa", "-plan"))
	s.capacity("there", c, 10)
	_, err := plan.Retarget(&before, "web", rollout.GVK())
	require.NoError(t, err)
	assert.Equal(t, before.Object["spec"], s.hpas()[0].Object["spec"])

	s.atLeast("7") // it found the Rollout, and its selector
	s.reaches("web", live.Healthy)
	s.runs(map[string]int{"web:1": 7})
	s.settled(c, 7) // the endpoints follow the pods by a moment

	// The rollback keeps the replicas that the autoscaler has set, not the
	// manifest's.
	c.reset()
	s.back(web("web:1"))
	least, _ := s.settled(c, 7)
	assert.Equal(t, 7, least)
	assert.Equal(t, "Deployment", s.target())
}

// autoscale has an autoscaler for the Deployment. Without metrics it keeps its
// bounds.
func (s *stage) autoscale() {
	s.Helper()
	_, err := s.kube.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).Create(s.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    10,
		},
	}, metav1.CreateOptions{})
	require.NoError(s, err)
}

// atLeast has the autoscaler scale its target up to n pods, and returns once it
// has.
func (s *stage) atLeast(n string) {
	s.Helper()
	hpas := s.kube.AutoscalingV2().HorizontalPodAutoscalers(s.namespace)
	h, err := hpas.Patch(s.Context(), "web", types.MergePatchType, []byte(`{"spec":{"minReplicas":`+n+`}}`), metav1.PatchOptions{})
	require.NoError(s, err)
	target := strings.ToLower(h.Spec.ScaleTargetRef.Kind) + "/web"
	s.eventually(target+" is scaled", func(c *assert.CollectT) {
		require.Equal(c, n, s.sh("kubectl -n "+s.namespace+" get "+target+" -o jsonpath={.spec.replicas}"))
	})
}
