// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"testing"

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
