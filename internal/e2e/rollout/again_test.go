// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/rollout"
)

// webOf is the Deployment web of n pods, half of them at a time.
func webOf(n int32) *appsv1.Deployment {
	d := web("web:1")
	d.Spec.Replicas = &n
	d.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromString("50%"))
	return d
}

// TestNoPlanLosesAnEndpoint_OfMorePods: sizes at which percentages are rounded.
//
//req:shows R5
func TestNoPlanLosesAnEndpoint_OfMorePods(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8, 9, 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			d := webOf(int32(n))
			s.deploy(d)
			c := s.measure(n)
			s.follow(s.plan("deployment,hpa", d, "-plan"))
			least, most := s.settled(c, n)
			assert.Equal(t, n, least)
			assert.LessOrEqual(t, most, 2*n)
			c.reset()
			s.back(d)
			least, _ = s.settled(c, n)
			assert.Equal(t, n, least)
		})
	}
}

// TestPlan_OfNoPods: what is scaled to zero is switched too.
//
//req:shows R5
func TestPlan_OfNoPods(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := webOf(0)
	s.deploy(d)
	s.follow(s.plan("deployment,hpa", d, "-plan"))
	s.kubectl("scale rollout web --replicas=2")
	s.reaches("web", rollout.Healthy)
	s.runs(map[string]int{"web:1": 2})
}

// TestPlan_EndsWhileAnAutoscalerScales all the time. The endpoints are never
// fewer than the least that it has asked for.
//
//req:shows R5
func TestPlan_EndsWhileAnAutoscalerScales(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := webOf(5)
	s.deploy(d)
	s.kubectl("autoscale deployment web --min=5 --max=10") // without metrics it keeps its bounds
	c := s.measure(5)
	d.Spec.Replicas = nil // as in a repository
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			bounds := fmt.Sprintf(`{"spec":{"minReplicas":%d,"maxReplicas":%d}}`, 5+n%3, 5+n%3)
			out, err := exec.Command(plane.Kubectl(), "--kubeconfig="+plane.Kubeconfig(), "--namespace="+s.namespace,
				"patch", "hpa", "web", "--type=merge", "-p", bounds).CombinedOutput()
			if err != nil {
				ended <- fmt.Errorf("%w: %s", err, out)
				return
			}
			time.Sleep(time.Second)
		}
		ended <- nil
	}()
	s.follow(s.plan("deployment,hpa", d, "-plan"))
	s.follow(s.plan("rollout,hpa", d, "-rollback"))
	stop()
	require.NoError(t, <-ended)
	least, most := s.extremes(c)
	t.Logf("at least %d, at most %d", least, most)
	assert.GreaterOrEqual(t, least, 5)
	assert.Equal(t, "Deployment", s.kubectl("get hpa web -o jsonpath={.spec.scaleTargetRef.kind}"))
}

// killed is the script up to a step, which ends there.
func killed(script string, step int) string {
	before, _, found := strings.Cut(script, fmt.Sprintf("\necho '%d/", step+1))
	if !found {
		return script
	}
	return before + "\n"
}

// TestPlan_KilledAfterEachStep, and run again from its start, loses no
// endpoint, and ends as one that was not.
//
//req:shows R5
func TestPlan_KilledAfterEachStep(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := webOf(5)
	s.deploy(d)
	s.kubectl("autoscale deployment web --min=5 --max=10")
	c := s.measure(5)
	for _, script := range []string{
		s.plan("deployment,hpa", d, "-plan"), "",
	} {
		if script == "" {
			script = s.plan("rollout,hpa", d, "-rollback")
		}
		for step := 1; step <= strings.Count(script, "\necho '"); step++ {
			s.follow(killed(script, step))
		}
	}
	s.runs(map[string]int{"web:1": 5})
	s.capacity("killed", c, 10)
	s.deployed(5)
}

// TestPlan_RunByTwo at the same time.
//
//req:shows R5
func TestPlan_RunByTwo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := webOf(5)
	s.deploy(d)
	c := s.measure(5)
	script := s.plan("deployment,hpa", d, "-plan")
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			out, err := s.try(s.planner, script)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			ended <- err
		}()
	}
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	s.reaches("web", rollout.Healthy)
	s.runs(map[string]int{"web:1": 5})
	s.capacity("by two", c, 10)
	assert.Equal(t, "", s.kubectl("get rollout web -o 'jsonpath={.metadata.managedFields[0].fieldsV1.f:spec.f:replicas}' --show-managed-fields"))
}

// TestPlan_LosesNoReleaseInBetween: the plan was interrupted, and a variable of
// the Deployment was set. Neither the same plan nor a new one throws it away.
//
//req:shows R5
func TestPlan_LosesNoReleaseInBetween(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := webOf(5)
	s.deploy(d)
	script := s.plan("deployment,hpa", d, "-plan")
	s.follow(killed(script, 6))
	s.kubectl("set env deployment/web A=2")
	s.kubectl("rollout status deployment web --timeout=2m")
	out, err := s.try(s.planner, script)
	require.Error(t, err, out)
	assert.Contains(t, out, "STOP: deployment/web is not as planned: its pod template has changed.")

	released := inGit("web:1")
	released.Spec.Template.Spec.Containers[0].Env = nil
	released.Spec.Strategy = d.Spec.Strategy
	cmd := exec.CommandContext(t.Context(), command, "-plan", "-", s.file(released))
	cmd.Stdin = strings.NewReader(s.kubectl("get deployment,hpa -o yaml --show-managed-fields"))
	refused, err := cmd.CombinedOutput()
	require.Error(t, err, "the manifest does not have the variable")
	assert.Contains(t, string(refused), "spec.template.spec.containers[0].env")

	released = inGit("web:1", "A")
	released.Spec.Template.Spec.Containers[0].Env[0].Value = "2"
	released.Spec.Strategy = d.Spec.Strategy
	out, err = s.try(s.planner, s.plan("deployment,hpa", released, "-plan"))
	require.Error(t, err, out)
	assert.Contains(t, out, "STOP: rollout/web is not as planned. Another plan or a person has made it.")
	assert.Equal(t, "A 5", s.variables("deployment/web"))

	s.kubectl("delete rollout web")
	s.follow(s.plan("deployment,hpa", released, "-plan"))
	assert.Equal(t, "A 5", s.variables("rollout/web"))
}
