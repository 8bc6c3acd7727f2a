// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/rollout"
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
	s.follow(s.plan("deployment,hpa", d, "-plan"))
	s.reaches("web", rollout.Healthy)
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
	least, most := s.readyAgain(c, 5)
	s.Logf("%s: of 5 ready endpoints at least %d, at most %d", way, least, most)
	assert.Equal(s, 5, least, way)
	assert.LessOrEqual(s, most, atMost, way)
}

// back runs the plan that goes back to the Deployment.
func (s *stage) back(to *appsv1.Deployment, args ...string) {
	s.Helper()
	s.follow(s.plan("rollout,hpa", to, append([]string{"-rollback"}, args...)...))
}

// inGit is the Deployment web as in a repository: with these variables, and
// without replicas.
func inGit(image string, variables ...string) *appsv1.Deployment {
	d := web(image)
	d.Spec.Replicas = nil
	for _, name := range variables {
		d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: name, Value: "x"})
	}
	return d
}

// sync applies an object as a GitOps tool does, without force.
func (s *stage) sync(obj any) {
	s.Helper()
	s.kubectl("apply --server-side --field-manager=gitops -f " + s.file(obj))
}

func (s *stage) variables(workload string) string {
	s.Helper()
	return s.kubectl("get " + workload + " -o 'jsonpath={.spec.template.spec.containers[0].env[*].name} {.spec.replicas}'")
}

// TestMigration_IsFollowedByACanary: a plan may run twice, and the first change
// after it is a canary. A return from its middle loses no endpoint, though
// the pods run two versions then. The plan applies as the tool that applies the
// live workload, so a variable that is removed from the repository is removed
// from the pods. No manager keeps the replicas.
//
//req:shows R5
func TestMigration_IsFollowedByACanary(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.sync(inGit("web:1", "A", "B"))
	s.kubectl("scale deployment web --replicas=5")
	s.kubectl("rollout status deployment web --timeout=2m")
	runbook := s.plan("deployment", inGit("web:1", "A", "B"), "-plan")
	s.follow(runbook)
	stable := s.stable()
	s.follow(runbook)
	assert.Equal(t, stable, s.stable())
	s.runs(map[string]int{"web:1": 5})

	r, errs := rollout.Convert(inGit("web:2", "A"), rollout.Options{OmitReplicas: true})
	require.Empty(t, errs)
	s.sync(r)
	s.reaches("web", rollout.Paused)
	assert.Equal(t, stable, s.stable())
	s.runs(map[string]int{"web:2": 1, "web:1": 4})
	assert.Equal(t, "A 5", s.variables("rollout/web"))
	c := s.measure(5)
	s.back(inGit("web:1", "A", "B"), "-allow-template-change", "-allow-two-versions")
	s.runs(map[string]int{"web:1": 5})
	s.capacity("back from the middle of a canary", c, 10)

	d := inGit("web:1")
	s.sync(d)
	assert.Equal(t, " 5", s.variables("deployment/web"))
	d.Spec.Replicas = new(int32(6))
	s.sync(d)
	assert.Equal(t, " 6", s.variables("deployment/web"))
}

// TestTheNaiveSwitchIsAnOutage in both directions, and is seen as one: the
// tests above would see theirs.
//
//req:shows R5
func TestTheNaiveSwitchIsAnOutage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := web("web:1")
	d.Spec.Template.Annotations = map[string]string{controlplane.ReadyAfterAnnotation: "15s"} // longer than a slow machine takes to remove the old pods
	r, errs := rollout.Convert(d, rollout.Options{})
	require.Empty(t, errs)
	s.deploy(d)
	c := s.measure(5)

	s.kubectl("apply --server-side -f " + s.file(r))
	s.kubectl("delete deployment web")
	s.outage(c)
	s.reaches("web", rollout.Healthy)
	c.reset()
	s.kubectl("apply --server-side -f " + s.file(d))
	s.kubectl("delete rollout web")
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
	r.Spec.Template = nil
	r.Spec.WorkloadRef = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": "progressively"}
	s.apply(r)
	s.reaches("web", rollout.Healthy)
	s.deployed(0)
	s.capacity("there", c, 10)

	s.kubectl("scale deployment web --replicas=5")
	s.deployed(0)
	s.reaches("web", rollout.Healthy)
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
	s.readyAgain(c, 5)
}

// TestTheAutoscalerFollows: it is handed over, not doubled, and scales what it
// is handed to. The plans make use of each right that rollout/plan documents.
//
//req:shows R5
func TestTheAutoscalerFollows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deploy(web("web:1"))
	s.kubectl("autoscale deployment web --max=10") // without metrics it keeps its bounds
	c := s.measure(5)
	s.followSlowly("deployment", s.plan("deployment,hpa", web("web:1"), "-plan"))
	s.capacity("there", c, 10)

	s.kubectl(`patch hpa web --type=merge -p '{"spec":{"minReplicas":7}}'`)
	s.eventually("it has found the Rollout, and its selector", func(c *assert.CollectT) {
		require.Equal(c, "7", s.kubectl("get rollout web -o jsonpath={.spec.replicas}"))
	})
	s.reaches("web", rollout.Healthy)
	s.runs(map[string]int{"web:1": 7})
	s.readyAgain(c, 7) // the endpoints follow the pods by a moment

	// The rollback keeps the replicas that the autoscaler has set, not the
	// manifest's.
	c.reset()
	s.followSlowly("rollout", s.plan("rollout,hpa", web("web:1"), "-rollback"))
	least, _ := s.readyAgain(c, 7)
	assert.Equal(t, 7, least)
	assert.Equal(t, "Deployment", s.kubectl("get hpa web -o jsonpath={.spec.scaleTargetRef.kind}"))
	assert.Empty(t, suite.Unused(documented(t), s.requests()))
}
