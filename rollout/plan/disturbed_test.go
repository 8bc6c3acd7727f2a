// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// source is the workload that the plan replaces, and target the other one.
func (j journey) source() string {
	if strings.HasSuffix(j.name, "Back") {
		return "rollout/web"
	}
	return "deployment/web"
}

// scaledNow scales what the autoscaler targets, as it would.
func scaledNow(w world, n int) {
	target := strings.ToLower(w.Objects["hpa/web"]["spec"].(map[string]any)["scaleTargetRef"].(map[string]any)["kind"].(string)) + "/web"
	if o := w.Objects[target]; o != nil {
		bump(o, "replicas", n)
	}
}

// disturbances are what others do between two steps of a plan, and how many
// pods there must be from then on.
func disturbances(t *testing.T, j journey) map[string]func(w world) (pods int) {
	t.Helper()
	return map[string]func(w world) int{
		"Scaled": func(w world) int {
			scaledNow(w, 9)
			for _, key := range []string{"deployment/web", "rollout/web"} {
				if o := w.Objects[key]; o != nil && jsonText(o["spec"].(map[string]any)["replicas"]) == "9" {
					return 9
				}
			}
			return 5 // there is nothing to scale
		},
		"Released": func(w world) int {
			each(w, func(o map[string]any) { release(o, "web:2") })
			return 5
		},
		"Applied": func(w world) int {
			if o := w.Objects[j.source()]; o != nil {
				bump(o, "replicas", 5)
				return 5
			}
			o := clone(t, j.from).Objects[j.source()]
			o["metadata"].(map[string]any)["uid"] = "again"
			w.Objects[j.source()] = o
			return 5
		},
	}
}

// TestPlan_DisturbedAfterAnyStep: an autoscaler scales, a release comes or
// another tool applies the old manifest between two steps. Run again, the plan
// reaches its end or stops with the reason. There are never too few pods, and
// no pod goes back to the old image.
//
//req:shows R5
func TestPlan_DisturbedAfterAnyStep(t *testing.T) {
	for _, j := range journeys(t) {
		if !strings.Contains(j.name, "Scaled") {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, j.from)
			states := []world{c.world()}
			for _, a := range j.plan.Actions {
				c.run(a.Command)
				if now := c.world(); jsonText(now) != jsonText(states[len(states)-1]) {
					states = append(states, now)
				}
			}
			require.Greater(t, len(states), 2)
			for i, state := range states {
				for name, disturb := range disturbances(t, j) {
					w := clone(t, state)
					pods := disturb(w)
					c.set(w)
					w = c.world()
					w.Least = 1000
					c.set(w)
					out, err := c.try(j.plan.String())
					where := name + " in state " + jsonText(i) + " of " + jsonText(len(states)-1) + "\n" + out
					if err != nil {
						require.Contains(t, out, "STOP: ", where)
					}
					require.NotContains(t, out, "force", where)
					after := c.world()
					require.GreaterOrEqual(t, after.Least, pods, where)
					if name == "Released" {
						for _, s := range after.Sets {
							require.False(t, s.Image == "web:1" && s.Replicas > 0 && !slices.ContainsFunc(w.Sets, func(was set) bool { return was.Image == "web:1" && was.Replicas > 0 }), where)
						}
					}
				}
			}
		})
	}
}

// TestPlan_StopsIfTheServerDoesNotAnswer: no answer does not mean that an
// object is not there. The plan has run, an autoscaler has scaled, and the plan
// runs again while one request fails.
//
//req:shows R5
func TestPlan_StopsIfTheServerDoesNotAnswer(t *testing.T) {
	for _, j := range journeys(t) {
		if !strings.Contains(j.name, "Scaled") {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, j.from)
			c.runAll(j.plan)
			w := c.world()
			scaledNow(w, 7)
			w.Least = 1000
			c.set(w)
			w = c.world()
			require.Equal(t, 7, w.Least)
			for _, request := range c.requests(j.plan) {
				c.set(w)
				c.fail(request)
				out, _ := c.steps(j.plan)
				require.Equal(t, workloads(w), workloads(c.world()), "%s\n%s", request, out)
				require.Equal(t, 7, c.world().Least, "%s\n%s", request, out)
				require.NotContains(t, out, "force")
			}
		})
	}
}

// TestPlan_RunAgainAfterAFailedRequest ends as an undisturbed run does.
//
//req:shows R5
func TestPlan_RunAgainAfterAFailedRequest(t *testing.T) {
	for _, j := range journeys(t) {
		if strings.Contains(j.name, "Scaled") {
			continue // one request more
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, j.from)
			requests := c.requests(j.plan)
			want := workloads(c.world())
			for _, request := range requests {
				c.set(j.from)
				c.fail(request)
				_, _ = c.steps(j.plan) // a wait asks again, any other request stops it
				c.runAll(j.plan)
				require.Equal(t, want, workloads(c.world()), request)
				require.Equal(t, 5, c.world().Least, request)
			}
		})
	}
}

// TestPlan_HoldsReplicasThatAnAutoscalerTakes: it scales between the read and
// the apply. kubectl's answer is to force the conflict.
func TestPlan_HoldsReplicasThatAnAutoscalerTakes(t *testing.T) {
	const conflict = "error: Apply failed with 1 conflict: conflict with \"kube-controller-manager\" with subresource \"scale\": .spec.replicas\nre-run the apply command with the `--force-conflicts` flag"
	for _, j := range journeys(t) {
		if j.name != "SideBySideScaledThere" && j.name != "AdoptScaledBack" {
			continue
		}
		hold := j.plan.Actions[index(j.plan, "--field-manager=replicas")].Command
		for answer, want := range map[string]bool{conflict: true, "error: the server is on fire": false} {
			sh := exec.CommandContext(t.Context(), "sh", "-euc", `kubectl() { case " $* " in *" get "*) echo 5 ;; *) cat >/dev/null; echo "$ANSWER" >&2; return 1 ;; esac; }; `+hold)
			sh.Env = append(sh.Environ(), "ANSWER="+answer)
			out, err := sh.CombinedOutput()
			assert.Equal(t, want, err == nil, "%s", out)
			assert.NotContains(t, string(out), "force")
			assert.Equal(t, want, !strings.Contains(string(out), answer))
		}
	}
}

// TestRollback_DoesNotScaleBlindly: an autoscaler may have scaled the
// Deployment up already.
func TestRollback_DoesNotScaleBlindly(t *testing.T) {
	p := rollback(t, live(t, refers("never")), plan.Reference)
	scale := p.Actions[index(p, "scale deployment web --replicas=5")].Command
	sh := exec.CommandContext(t.Context(), "sh", "-c", `kubectl() { case " $* " in *spec.replicas*) return 1 ;; *" get "*) echo there ;; *) echo scaled ;; esac; }; `+scale)
	out, err := sh.CombinedOutput()
	require.Error(t, err)
	assert.NotContains(t, string(out), "scaled")
}

// TestPlan_SelectorOfBothKinds: kubectl prints the keys of an object in their
// order, and the Go type has another one.
func TestPlan_SelectorOfBothKinds(t *testing.T) {
	d, r := running(), converted(t)
	d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"api", "web"}}}
	r.Spec.Selector = d.Spec.Selector.DeepCopy()
	for _, m := range []plan.Method{plan.SideBySide, plan.Adopt} {
		p, errs := plan.Migration(d, r, nil, plan.Options{Method: m})
		require.Empty(t, errs)
		w := deployed(t, false)
		w.Objects["deployment/web"]["spec"].(map[string]any)["selector"] = map[string]any{
			"matchExpressions": []any{map[string]any{"key": "app", "operator": "In", "values": []any{"api", "web"}}}, "matchLabels": map[string]any{"app": "web"},
		}
		newCluster(t, w).runAll(p)
	}
}

// TestPlan_LeftFromAnEarlierPlan: a new plan would stop each time, so it says
// what to do, where that loses no pod.
func TestPlan_LeftFromAnEarlierPlan(t *testing.T) {
	const remove = "delete it, and run this again: kubectl -n shop delete"
	for _, j := range journeys(t) {
		if strings.Contains(j.name, "Scaled") || strings.HasPrefix(j.name, "Adopt") {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			w := clone(t, j.from)
			back := j.source() == "rollout/web"
			left := "deployment/web"
			if !back {
				left = "rollout/web"
				w.Objects[left] = live(t, nil).Object
			} else if j.name != "ReferenceBack" { // it is there already
				w.Objects[left] = deployed(t, false).Objects[left]
			}
			release(w.Objects[left], "web:0")
			c := newCluster(t, w)
			out, err := c.try(j.plan.String())
			require.Error(t, err)
			assert.Equal(t, j.name != "ReferenceBack", strings.Contains(out, remove), "the Deployment of a workloadRef must stay\n%s", out)

			// The old workload is gone by now: the new one has the only pods.
			w = c.world()
			delete(w.Objects, j.source())
			c.set(w)
			out, err = c.try(j.plan.String())
			require.Error(t, err)
			assert.NotContains(t, out, remove)
		})
	}
}

// TestPlan_EveryDeletionHasADeadline: kubectl delete by itself waits for up to
// a week, and a read for as long as the server does not answer.
func TestPlan_EveryDeletionHasADeadline(t *testing.T) {
	for _, j := range journeys(t) {
		for _, a := range j.plan.Actions {
			for line := range strings.Lines(a.Command + "\n" + a.Until + "\n") {
				if strings.HasPrefix(strings.TrimSpace(line), "kubectl -n shop delete ") {
					assert.Contains(t, line, " --wait=false")
					assert.Contains(t, a.Until, "wait --for=delete")
				}
				if strings.Contains(line, "(kubectl -n shop get ") {
					assert.Contains(t, line, "get --request-timeout=30s ")
				}
			}
		}
	}
}

// TestPlan_WaitsForMinReadySeconds of each pod, one after the other.
func TestPlan_WaitsForMinReadySeconds(t *testing.T) {
	d, r := running(), converted(t)
	d.Spec.MinReadySeconds, r.Spec.MinReadySeconds = 300, 300
	d.Spec.ProgressDeadlineSeconds = ptr.To[int32](900)
	r.Spec.ProgressDeadlineSeconds = ptr.To[int32](900)
	p, errs := plan.Migration(d, r, nil, plan.Options{Method: plan.Adopt})
	require.Empty(t, errs)
	assert.Contains(t, p.Actions[len(p.Actions)-1].Until, "Waiting up to 1650s")

	to := manifest()
	to.Spec.MinReadySeconds = 300
	p, errs = plan.Rollback(live(t, nil), to, nil, plan.Options{Method: plan.Adopt})
	require.Empty(t, errs)
	assert.Contains(t, p.Actions[len(p.Actions)-1].Until, "--timeout=1650s")
}

// TestPlan_RefusesExclusivePods: with maxSurge 0 the Deployment says that a
// second pod cannot work, and each method runs one.
func TestPlan_RefusesExclusivePods(t *testing.T) {
	exclusive := func(d *appsv1.Deployment, surge string) {
		d.Spec.Template.Spec.HostNetwork = true
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: fence(surge), MaxUnavailable: fence("1")}
	}
	for surge, refused := range map[string]bool{"0": true, "0%": true, "1": false} {
		for _, m := range []plan.Method{plan.SideBySide, plan.Reference} {
			d, r := running(), converted(t)
			exclusive(d, surge)
			r.Spec.Template.Spec.HostNetwork = true
			_, errs := plan.Migration(d, r, nil, plan.Options{Method: m})
			require.Equal(t, refused, len(errs) > 0, "%s %s: %v", m, surge, errs)
			to := manifest()
			exclusive(to, surge)
			u := live(t, func(r *rollout.Rollout) {
				r.Spec.Template.Spec.HostNetwork = true
				if change := referredBy(m); change != nil {
					change(r)
				}
			})
			_, back := plan.Rollback(u, to, nil, plan.Options{Method: m})
			require.Equal(t, refused, len(back) > 0, "%s %s: %v", m, surge, back)
			if refused {
				assert.Equal(t, []string{"live.spec.strategy.rollingUpdate.maxSurge"}, paths(errs))
				assert.Equal(t, []string{"spec.strategy.rollingUpdate.maxSurge"}, paths(back))
				assert.Contains(t, errs[0].Detail, "hostNetwork")
			}
		}
	}
	d := running() // nothing is shared
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: fence("0"), MaxUnavailable: fence("1")}
	_, errs := plan.Migration(d, converted(t), nil, plan.Options{})
	require.Empty(t, errs)
}

func fence(s string) *intstr.IntOrString { return ptr.To(intstr.Parse(s)) }

// steps runs the actions one after the other, as the documentation of Plan
// says, and without the script's set -e.
func (c *cluster) steps(p plan.Plan) (out string, err error) {
	c.Helper()
	for _, a := range p.Actions {
		for _, command := range []string{a.Command, a.Until} {
			more, err := c.try(command)
			if out += more; err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// requests runs the plan and returns each distinct request of it.
func (c *cluster) requests(p plan.Plan) []string {
	c.Helper()
	c.fail("")
	c.runAll(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Greater(c, len(c.log), 8)
	return slices.Compact(slices.Sorted(slices.Values(c.log)))
}

// fail has the next of these requests fail.
func (c *cluster) fail(request string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing, c.log = request, nil
}

// fails is called with the lock held.
func (c *cluster) fails(request string) bool {
	c.log = append(c.log, request)
	if request != c.failing {
		return false
	}
	c.failing = ""
	return true
}
