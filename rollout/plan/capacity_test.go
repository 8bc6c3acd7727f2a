// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/proompteng/controllerkit/rollout/plan"
)

// model is a cluster as far as a plan moves pods: who has how many that are
// ready, and which have no owner.
type model struct {
	want                         int
	deployment, rollout, orphans int
	hasDeployment, hasRollout    bool
	labelled, scaleDownStopped   bool
	adopted                      bool
	target                       string // of the autoscaler
	least, most                  int
}

func (c *model) ready() {
	n := c.deployment + c.rollout + c.orphans
	c.least, c.most = min(c.least, n), max(c.most, n)
}

// run does what the controllers do about a command, as measured on a
// real cluster.
func (c *model) run(t *testing.T, command string) {
	t.Helper()
	surge := func() { c.most = max(c.most, c.want+1) }
	switch {
	case strings.Contains(command, "STOP: "), strings.Contains(command, "--dry-run"), strings.HasPrefix(command, "cat >"), strings.Contains(command, "--field-manager=replicas"):
	case strings.Contains(command, "apply") && strings.Contains(command, "rollout.json"):
		c.hasRollout = true
		if c.orphans > 0 && c.labelled { // adopted, and replaced within maxSurge 1 and maxUnavailable 0
			c.adopted, c.orphans = true, 0
			surge()
		}
		c.rollout = c.want
	case strings.Contains(command, "apply") && strings.Contains(command, "deployment.json"):
		c.hasDeployment = true
		if c.orphans > 0 { // no label is needed this way
			c.orphans = 0
			surge()
		}
		c.deployment = c.want
	case strings.Contains(command, "delete deployment"):
		if strings.Contains(command, "--cascade=orphan") {
			c.orphans = c.deployment
		}
		c.deployment, c.hasDeployment = 0, false
	case strings.Contains(command, "delete rollout"):
		if strings.Contains(command, "--cascade=orphan") {
			c.orphans = c.rollout
		}
		c.rollout, c.hasRollout = 0, false
	case strings.Contains(command, "label replicaset"):
		c.labelled = true
	case strings.Contains(command, `"scaleDown":"never"`):
		c.scaleDownStopped = true
	case strings.Contains(command, "scale deployment"):
		c.deployment = 0
		if !strings.Contains(command, "--replicas=0") && c.scaleDownStopped {
			c.deployment = c.want
		}
	case strings.Contains(command, "patch hpa"):
		c.target = "Deployment"
		if strings.Contains(command, "Rollout") {
			c.target = "Rollout"
		}
	default:
		require.Fail(t, "unknown command", command)
	}
	c.ready()
}

// TestPlan_LosesNoCapacity runs every plan on the model: there are never fewer
// pods ready than before, nor more than the method says, and none without an
// owner in the end; the autoscaler has a target at the end, and never a target
// that is not there.
//
//req:shows R5
func TestPlan_LosesNoCapacity(t *testing.T) {
	for _, m := range []plan.Method{plan.SideBySide, plan.Adopt, plan.Reference} {
		for _, scaled := range []bool{false, true} {
			for _, back := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s scaled=%t back=%t", m, scaled, back), func(t *testing.T) {
					from, to := "Deployment", "Rollout"
					if back {
						from, to = to, from
					}
					var hpas []autoscalingv2.HorizontalPodAutoscaler
					if scaled {
						hpas = append(hpas, scaler("web", from, "web"))
					}
					c := &model{want: 5, least: 5, most: 5, deployment: 5, hasDeployment: true, target: from}
					p, errs := plan.Migration(running(), converted(t), hpas, plan.Options{Method: m})
					if back {
						*c = model{want: 5, least: 5, most: 5, rollout: 5, hasRollout: true, hasDeployment: m == plan.Reference, target: from}
						p, errs = plan.Rollback(live(t, referredBy(m)), manifest(), hpas, plan.Options{Method: m})
					}
					require.Empty(t, errs)
					for _, a := range p.Actions {
						c.run(t, a.Command)
						if c.target == to {
							assert.True(t, c.hasRollout && to == "Rollout" || c.hasDeployment && to == "Deployment", "the autoscaler has nothing to scale")
						}
					}
					assert.Equal(t, 5, c.least, "never fewer pods than before")
					most := map[plan.Method]int{plan.SideBySide: 10, plan.Adopt: 6, plan.Reference: 10}[m]
					assert.Equal(t, most, c.most, "never more than the method says")
					assert.Zero(t, c.orphans)
					if scaled {
						assert.Equal(t, to, c.target)
					}
				})
			}
		}
	}
}

// The model sees an outage where there is one: the plans with a step left out,
// or in upstream's order.
func TestModel_SeesAnOutage(t *testing.T) {
	naive := &model{want: 5, least: 5, deployment: 5}
	naive.run(t, "kubectl delete deployment web")
	naive.run(t, "kubectl apply -f web-rollout.json")
	assert.Zero(t, naive.least)

	upstream := &model{want: 5, least: 5, rollout: 5}
	upstream.run(t, "kubectl scale deployment web --replicas=5")
	upstream.run(t, "kubectl delete rollout web")
	assert.Zero(t, upstream.least, "the controller scaled it down again")
}
