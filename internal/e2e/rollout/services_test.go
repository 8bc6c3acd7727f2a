// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestRollback_OfARolloutWithServices does as the refusal says: the
// controller lets go of a Service once the Rollout no longer refers to it, and
// then the plan is made, and loses nothing.
//
//req:shows R5
func TestRollback_OfARolloutWithServices(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := converted(t, "web:1", rollout.Options{})
	r.Spec.Strategy = rollout.Strategy{BlueGreen: map[string]any{"activeService": "web"}}
	s.apply(r)
	u := s.reaches("web", rollout.Healthy)
	s.selects(true)
	_, errs := plan.Rollback(u, web("web:1"), nil, plan.Options{})
	require.ErrorContains(t, errs.ToAggregate(), "keeps the Service web to the pods of the Rollout")

	s.apply(converted(t, "web:1", rollout.Options{}))
	s.selects(false)
	s.reaches("web", rollout.Healthy)
	c := s.measure(5)
	s.back(web("web:1"))
	s.runs(map[string]int{"web:1": 5})
	s.capacity("back", c, 10)
}

// selects waits until the Service is kept to the pods of one version, or is so
// no longer.
func (s *stage) selects(oneVersion bool) {
	s.Helper()
	s.eventually("the Service selects", func(c *assert.CollectT) {
		hash := s.kubectl("get service web -o jsonpath={.spec.selector.rollouts-pod-template-hash}")
		require.Equal(c, oneVersion, hash != "")
	})
}
