// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/rollout/plan"
)

// journey is a plan and the cluster that it was made from.
type journey struct {
	name     string
	from     world
	plan     plan.Plan
	old, new string
}

// journeys are the plans in both directions, with and without an autoscaler.
func journeys(t *testing.T) []journey {
	t.Helper()
	there := scaler("web", "Deployment", "web")
	back := scaler("web", "Rollout", "web")
	deployed := world{Least: 5, Objects: map[string]map[string]any{"deployment/web": inCluster(t, running()).Object}}
	rolled := world{Least: 5, Objects: map[string]map[string]any{"rollout/web": live(t, nil).Object}}
	scaled := func(w world, hpa map[string]any) world {
		w = clone(t, w)
		w.Objects["hpa/web"] = hpa
		return w
	}
	return []journey{
		{"migration", deployed, migration(t, nil), "deployment/web", "rollout/web"},
		{"migration-autoscaled", scaled(deployed, there.Object), migration(t, nil, there), "deployment/web", "rollout/web"},
		{"rollback", rolled, rollback(t, live(t, nil)), "rollout/web", "deployment/web"},
		{"rollback-autoscaled", scaled(rolled, back.Object), rollback(t, live(t, nil), back), "rollout/web", "deployment/web"},
	}
}

func (j journey) scaled() bool { return strings.HasSuffix(j.name, "-autoscaled") }

// until is the script of the first n steps.
func (j journey) until(n int) string {
	p := j.plan
	p.Steps = p.Steps[:n]
	return p.String()
}

// eachJourney runs a test for each of them.
func eachJourney(t *testing.T, run func(c *cluster, j journey)) {
	t.Helper()
	for _, j := range journeys(t) {
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			run(newCluster(t, j.from), j)
		})
	}
}

// TestPlan_EndsWithTheNewWorkload alone, and never has fewer pods.
//
//req:shows R5
func TestPlan_EndsWithTheNewWorkload(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		out, err := c.try(j.plan.String())
		require.NoError(c, err, out)
		want := map[string]string{j.new: "5 pods of web:1"}
		if j.scaled() {
			want["hpa/web"] = j.new
		}
		assert.Equal(c, want, c.world().outcome())
		assert.Equal(c, 5, c.world().Least)
		for i, s := range j.plan.Steps {
			assert.Contains(c, out, fmt.Sprintf("%d/%d %s\n", i+1, len(j.plan.Steps), s.Do))
		}
		for _, w := range j.plan.Warnings {
			assert.Contains(c, strings.Join(strings.Fields(out), " "), "WARNING: "+w, "printed when it runs")
		}
	})
}

// TestPlan_InterruptedAfterAnyStepEndsTheSame: another person runs the script
// from its start.
//
//req:shows R5
func TestPlan_InterruptedAfterAnyStepEndsTheSame(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		c.run(j.plan.String())
		want := c.world().outcome()
		for n := range len(j.plan.Steps) + 1 {
			c.set(j.from)
			c.run(j.until(n))
			c.run(j.plan.String())
			assert.Equal(c, want, c.world().outcome(), "after step %d", n)
			assert.Equal(c, 5, c.world().Least, "after step %d", n)
		}
	})
}

// TestPlan_StopsBeforeItActs in a cluster that has changed since the plan was
// made, and says what the difference is.
//
//req:shows R5
func TestPlan_StopsBeforeItActs(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(w world)
		want   string // of what the script prints
	}{
		"Released":  {"The image would go back.", func(w world) { w.each(func(o map[string]any) { release(o, "web:2") }) }, "its pod template has changed"},
		"Variable":  {"The variable would be lost.", func(w world) { w.each(func(o map[string]any) { setVariable(o, "s3cret") }) }, "its pod template has changed"},
		"Recreated": {"It is another object of the same name.", func(w world) { w.each(func(o map[string]any) { o["metadata"].(map[string]any)["uid"] = "other" }) }, "now: uid other"},
		"Gone":      {"Someone has removed it on purpose.", func(w world) { clear(w.Objects) }, "now: gone"},
	}
	eachJourney(t, func(c *cluster, j journey) {
		for name, tc := range cases {
			w := clone(c.T, j.from)
			tc.change(w)
			c.set(w)
			before := c.world()
			out, err := c.try(j.plan.String())
			require.Error(c, err, "%s: %s\n%s", name, tc.reason, out)
			assert.Contains(c, out, "STOP: "+j.old+" is not as planned", name)
			assert.Contains(c, out, tc.want, name)
			assert.NotContains(c, out, "s3cret", "a variable may be secret")
			assert.JSONEq(c, jsonText(before), jsonText(c.world()), "%s: nothing is touched", name)
		}
	})
}

// TestPlan_StopsAtAnAutoscalerThatItDoesNotKnow: it would be left without a
// target.
//
//req:shows R5
func TestPlan_StopsAtAnAutoscalerThatItDoesNotKnow(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		w := clone(c.T, j.from)
		forgotten := scaler("forgotten", "Deployment", "web")
		w.Objects["hpa/forgotten"] = forgotten.Object
		c.set(w)
		out, err := c.try(j.plan.String())
		require.Error(c, err, out)
		assert.Contains(c, out, "STOP: hpa is not as planned. Make a new plan with all HorizontalPodAutoscalers")
		assert.NotContains(c, c.world().Objects, j.new)
	})
}

// TestPlan_EndsWhileAnAutoscalerIsBusy: replicas that change with each request
// neither stop a plan, nor keep it from its end, and the new workload gets as
// many as the old one has then.
//
//req:shows R5
func TestPlan_EndsWhileAnAutoscalerIsBusy(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		if !j.scaled() {
			return
		}
		w := clone(c.T, j.from)
		w.scale(9)
		w.Least = 9
		c.set(w)
		c.locked(func() { c.busy = true })
		out, err := c.try(j.plan.String())
		require.NoError(c, err, out)
		assert.NotContains(c, c.world().Objects, j.old)
		assert.GreaterOrEqual(c, c.world().Least, 9)
	})
}

// TestPlan_StopsWhenTheOldWorkloadChangesMeanwhile: the waits may take ten
// minutes.
//
//req:shows R5
func TestPlan_StopsWhenTheOldWorkloadChangesMeanwhile(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		last := len(j.plan.Steps) - 2
		c.run(j.until(last))
		w := c.world()
		release(w.Objects[j.old], "web:2")
		c.set(w)
		rest := j.plan
		rest.Steps = rest.Steps[last:]
		out, err := c.try(rest.String())
		require.Error(c, err, out)
		assert.Contains(c, out, "STOP: "+j.old+" is not as planned")
		assert.Contains(c, c.world().Objects, j.old)
	})
}

// TestPlan_RunAgainKeepsTheAutoscalersReplicas: nothing conflicts with them.
//
//req:shows R5
func TestPlan_RunAgainKeepsTheAutoscalersReplicas(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		c.run(j.plan.String())
		w := c.world()
		bump(w.Objects[j.new], "replicas", 7)
		c.set(w)
		c.run(j.plan.String())
		assert.Equal(c, "7 pods of web:1", c.world().outcome()[j.new])
	})
}

// TestPlan_DisturbedAfterAnyStep: an autoscaler scales, a release comes, or
// another tool creates the old workload again between two steps. Run again, the
// plan reaches its end or stops with the reason. There are never too few pods,
// and no pod goes back to the old image.
//
//req:shows R5
func TestPlan_DisturbedAfterAnyStep(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		for n := range len(j.plan.Steps) + 1 {
			c.set(j.from)
			c.run(j.until(n))
			state := c.world()
			for name, disturb := range j.disturbances(c.T) {
				w := clone(c.T, state)
				pods := disturb(w)
				w.Least = 1000
				c.set(w)
				out, err := c.try(j.plan.String())
				where := fmt.Sprintf("%s after step %d\n%s", name, n, out)
				if err != nil {
					require.Contains(c, out, "STOP: ", where)
				}
				require.NotContains(c, out, "force", where)
				require.GreaterOrEqual(c, c.world().Least, pods, where)
				if name == "Released" {
					require.NotContains(c, slices.Collect(maps.Values(c.world().outcome())), "5 pods of web:1", where)
				}
			}
		}
	})
}

// disturbances change a world and return how many pods there must be from then
// on.
func (j journey) disturbances(t *testing.T) map[string]func(w world) (pods int) {
	t.Helper()
	all := map[string]func(w world) int{
		"Released": func(w world) int {
			w.each(func(o map[string]any) { release(o, "web:2") })
			return 5
		},
		"CreatedAgain": func(w world) int {
			o := clone(t, j.from).Objects[j.old]
			o["metadata"].(map[string]any)["uid"] = "again"
			w.Objects[j.old] = o
			return 5
		},
	}
	if j.scaled() {
		all["Scaled"] = func(w world) int {
			if w.scale(9) {
				return 9
			}
			return 5
		}
	}
	return all
}

// TestPlan_RunAgainAfterAFailedRequest: no answer does not mean that an object
// is not there. A wait asks again, and any other request stops the script. Then
// it ends as an undisturbed run does.
//
//req:shows R5
func TestPlan_RunAgainAfterAFailedRequest(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		c.fail("")
		c.run(j.plan.String())
		want := c.world().outcome()
		var requests []string
		c.locked(func() { requests = slices.Compact(slices.Sorted(slices.Values(c.log))) })
		require.Greater(c, len(requests), 6)
		for _, request := range requests {
			c.set(j.from)
			c.fail(request)
			_, _ = c.try(j.plan.String())
			require.Equal(c, 5, c.world().Least, request)
			c.run(j.plan.String())
			require.Equal(c, want, c.world().outcome(), request)
		}
	})
}

// TestPlan_WaitsForAControllerAndItsPods: the old workload stays while no
// controller has seen the new one.
//
//req:shows R5
func TestPlan_WaitsForAControllerAndItsPods(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		c.locked(func() { c.absent = true })
		out, err := c.try(j.plan.String())
		require.Error(c, err, out)
		assert.Contains(c, out, "STOP: "+j.new+" does not have its pods after 600 seconds")
		assert.Contains(c, c.world().Objects, j.old)
	})
}

// TestPlan_StopsIfTheTargetIsPutBack, as KEDA and GitOps tools do within
// seconds: no workload is removed that an autoscaler scales.
//
//req:shows R5
func TestPlan_StopsIfTheTargetIsPutBack(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		if !j.scaled() {
			return
		}
		c.locked(func() { c.stubborn = true })
		out, err := c.try(j.plan.String())
		require.Error(c, err, out)
		assert.Contains(c, out, "STOP: hpa/web is not as planned. Change scaleTargetRef where its manifest is kept")
		assert.Contains(c, c.world().Objects, j.old)
		c.locked(func() { c.stubborn = false })
		c.run(j.plan.String())
		assert.Equal(c, j.new, c.world().outcome()["hpa/web"])
	})
}

// TestPlan_UndoLeadsBack from before the last step.
//
//req:shows R5
func TestPlan_UndoLeadsBack(t *testing.T) {
	eachJourney(t, func(c *cluster, j journey) {
		before := c.world().outcome()
		c.run(j.until(len(j.plan.Steps) - 1))
		_, undo, found := strings.Cut(j.plan.String(), " has enough pods:\n")
		require.True(c, found)
		undo, _, _ = strings.Cut(undo, "set -eu")
		c.run(strings.ReplaceAll(undo, "#   ", ""))
		assert.Equal(c, before, c.world().outcome())
		assert.Equal(c, 5, c.world().Least)
	})
}
