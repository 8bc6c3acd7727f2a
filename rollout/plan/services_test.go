// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// TestPlan_RefusesServices: the controller keeps a Service to the pods of the
// Rollout. Before a migration these do not exist yet, and after a rollback the
// Deployment's are behind none.
func TestPlan_RefusesServices(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(s *rollout.Strategy)
		want   []string
	}{
		"Canary": {"Both.", func(s *rollout.Strategy) {
			s.Canary.CanaryService, s.Canary.StableService = "web-canary", "web"
		}, []string{"canary.canaryService", "canary.stableService"}},
		"PingPong": {"Both Services are kept to pods of the Rollout.", func(s *rollout.Strategy) {
			s.Canary.PingPong = map[string]any{"pingService": "web-ping", "pongService": "web-pong"}
			s.Canary.TrafficRouting = map[string]any{"alb": map[string]any{"ingress": "web", "servicePort": int64(80), "rootService": "web"}}
		}, []string{"canary.pingPong.pingService", "canary.pingPong.pongService"}},
		"BlueGreen": {"Which cannot be without one.", func(s *rollout.Strategy) {
			*s = rollout.Strategy{BlueGreen: map[string]any{"activeService": "web", "previewService": "web-next"}}
		}, []string{"blueGreen.activeService", "blueGreen.previewService"}},
	} {
		for _, m := range []plan.Method{plan.SideBySide, plan.Adopt, plan.Reference} {
			t.Run(name+"/"+string(m), func(t *testing.T) {
				change := func(r *rollout.Rollout) {
					if m == plan.Reference {
						refers("never")(r)
					}
					tc.change(&r.Spec.Strategy)
				}
				to := converted(t)
				change(to)
				there, errs := plan.Migration(running(), to, nil, plan.Options{Method: m})
				assert.Equal(t, under("spec.strategy.", tc.want), paths(errs), "%s\n%v", tc.reason, errs)
				back, errs := plan.Rollback(live(t, change), manifest(), nil, plan.Options{Method: m})
				assert.Equal(t, under("live.spec.strategy.", tc.want), paths(errs), "%s\n%v", tc.reason, errs)
				assert.Equal(t, []plan.Plan{{}, {}}, []plan.Plan{there, back}, "nothing to run")
			})
		}
	}
	to := converted(t)
	to.Spec.Strategy.Canary.PingPong = map[string]any{"pingService": int64(1), "pongService": "web-pong"}
	_, errs := plan.Migration(running(), to, nil, plan.Options{Method: plan.Adopt})
	require.Equal(t, []string{"spec.strategy", "spec.strategy.canary.pingPong"}, paths(errs), "a number is not a name")
}

func under(path string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = path + name
	}
	return out
}
