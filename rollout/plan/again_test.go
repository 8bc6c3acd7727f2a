// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// journey is a plan and the cluster that it was made from.
type journey struct {
	name string
	from world
	plan plan.Plan
}

// journeys are the plans of every method, in both directions, with and without
// an autoscaler.
func journeys(t *testing.T) []journey {
	t.Helper()
	var out []journey
	for _, m := range []plan.Method{plan.SideBySide, plan.Adopt, plan.Reference} {
		for _, scaled := range []bool{false, true} {
			name := string(m)
			var there, back []autoscalingv2.HorizontalPodAutoscaler
			if scaled {
				name += "Scaled"
				there = append(there, scaler("web", "Deployment", "web"))
				back = append(back, scaler("web", "Rollout", "web"))
			}
			p, errs := plan.Migration(running(), converted(t), there, plan.Options{Method: m})
			require.Empty(t, errs)
			out = append(out, journey{name + "There", deployed(t, scaled), p})

			u, to := live(t, referredBy(m)), manifest()
			p, errs = plan.Rollback(u, to, back, plan.Options{Method: m})
			require.Empty(t, errs)
			out = append(out, journey{name + "Back", rolledOut(t, u, scaled), p})
		}
	}
	return out
}

// TestPlan_InterruptedAfterAnyStepEndsTheSame: the script is run until a step,
// and then from its start. The pods are never fewer than before.
//
//req:shows R5
func TestPlan_InterruptedAfterAnyStepEndsTheSame(t *testing.T) {
	for _, j := range journeys(t) {
		if !strings.Contains(j.name, "Scaled") {
			continue // the others have fewer steps of the same kinds
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, j.from)
			c.runAll(j.plan)
			want := workloads(c.world())
			before := workloads(j.from)
			require.NotEqual(t, before, want, "the plan does something") //nolint:testifylint // the first is what an uninterrupted run gave
			require.Equal(t, 5, c.world().Least)

			c.set(j.from)
			last := c.world()
			for i, a := range j.plan.Actions {
				c.run(a.Command)
				interrupted := c.world()
				if jsonText(last) == jsonText(interrupted) {
					continue // it was run from here already
				}
				last = interrupted
				c.runAll(j.plan)
				assert.Equal(t, want, workloads(c.world()), "after step %d, %s", i+1, a.Do)
				assert.Equal(t, 5, c.world().Least, "after step %d, %s", i+1, a.Do)
				c.set(interrupted)
			}
		})
	}
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
		"Scaled": {"The new workload would have 5 pods where 9 run.", func(w world) {
			each(w, func(o map[string]any) { bump(o, "replicas", 9) })
		}, "replicas: 9"},
		"Released": {"The image would go back.", func(w world) {
			each(w, func(o map[string]any) { release(o, "web:2") })
		}, "images: [web=web:2]"},
		"Recreated": {"It is another object of the same name.", func(w world) {
			each(w, func(o map[string]any) { o["metadata"].(map[string]any)["uid"] = "other" })
		}, "uid: other"},
		"AnotherSelector": {"Its pods are others.", func(w world) {
			each(w, func(o map[string]any) { bump(o, "selector", map[string]any{"matchLabels": map[string]any{"app": "x"}}) })
		}, `"app":"x"`},
		"Gone": {"Someone has removed it on purpose.", func(w world) {
			for key := range w.Objects {
				delete(w.Objects, key)
			}
			w.Sets = nil
		}, "is gone"},
	}
	for _, j := range journeys(t) {
		for name, tc := range cases {
			if strings.HasPrefix(j.name, "Reference") && strings.Contains(j.name, "Back") && name == "AnotherSelector" {
				continue // its Rollout has none that the plan uses
			}
			t.Run(j.name+name, func(t *testing.T) {
				t.Parallel()
				changed := clone(t, j.from)
				tc.change(changed)
				c := newCluster(t, changed)
				before := c.world()
				out, err := c.try(j.plan.String())
				require.Error(t, err, "%s\n%s", tc.reason, out)
				assert.Contains(t, out, "STOP: ")
				assert.NotContains(t, out, "force")
				if name != "Gone" {
					assert.Contains(t, out, tc.want)
				}
				assert.JSONEq(t, jsonText(before), jsonText(c.world()), "nothing is touched")
			})
		}
	}
}

// TestPlan_StopsWhenTheOldWorkloadChangesMeanwhile: between the first check and
// the removal of the old workload, a wait may take ten minutes.
func TestPlan_StopsWhenTheOldWorkloadChangesMeanwhile(t *testing.T) {
	for _, j := range journeys(t) {
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, j.from)
			kind := "deployment"
			if strings.HasSuffix(j.name, "Back") {
				kind = "rollout"
			}
			done := 0
			for i, a := range j.plan.Actions[1:] {
				if strings.Contains(a.Command, "STOP: ") {
					done = i + 1
				}
			}
			require.Positive(t, done, "there is a second check")
			for _, a := range j.plan.Actions[:done] {
				c.run(a.Command)
			}
			w := c.world()
			if strings.HasPrefix(j.name, "Reference") {
				bump(w.Objects[kind+"/web"], "replicas", 9) // the Deployment has its images
			} else {
				release(w.Objects[kind+"/web"], "web:2")
			}
			c.set(w)
			out, err := c.try(j.plan.Actions[done].Command)
			require.Error(t, err)
			assert.Contains(t, out, "STOP: ")
		})
	}
}

// TestPlan_RunLateDoesNotUndoARelease: the plan was carried out, and then the
// new workload got another version.
func TestPlan_RunLateDoesNotUndoARelease(t *testing.T) {
	for _, j := range journeys(t) {
		if j.name == "ReferenceThere" || j.name == "ReferenceScaledThere" {
			continue // the plan creates no template that could be undone
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, j.from)
			c.runAll(j.plan)
			w := c.world()
			each(w, func(o map[string]any) { release(o, "web:2") })
			c.set(w)
			before := c.world()
			out, err := c.try(j.plan.String())
			require.Error(t, err)
			assert.Contains(t, out, "[web=web:2]")
			assert.JSONEq(t, jsonText(before), jsonText(c.world()))
		})
	}
}

// TestPlan_RunAgainAfterAnAutoscaler: its replicas stay, and
// nothing conflicts with it.
func TestPlan_RunAgainAfterAnAutoscaler(t *testing.T) {
	for _, j := range journeys(t) {
		if !strings.Contains(j.name, "Scaled") {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, j.from)
			c.runAll(j.plan)
			w := c.world()
			target := strings.ToLower(w.Objects["hpa/web"]["spec"].(map[string]any)["scaleTargetRef"].(map[string]any)["kind"].(string)) + "/web"
			bump(w.Objects[target], "replicas", 7)
			c.set(w)
			c.runAll(j.plan)
			assert.EqualValues(t, 7, c.world().Objects[target]["spec"].(map[string]any)["replicas"])
		})
	}
}

// TestPlan_TooFewPodsKeepTheOldOnes: someone has created the Rollout without
// replicas, which is one pod.
func TestPlan_TooFewPodsKeepTheOldOnes(t *testing.T) {
	for _, j := range journeys(t) {
		if j.name != "SideBySideThere" && j.name != "AdoptThere" {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			w := clone(t, j.from)
			w.Objects["rollout/web"] = live(t, func(r *rollout.Rollout) { r.UID, r.Spec.Replicas = "r", nil }).Object
			c := newCluster(t, w)
			out, err := c.try(j.plan.String())
			require.Error(t, err)
			assert.Contains(t, out, "has fewer pods")
			assert.Equal(t, 5, c.world().Least)
		})
	}
}

// TestMigration_AdoptLabelsOnlyItsOwnReplicaSets: another Deployment's pods may
// match the selector too.
func TestMigration_AdoptLabelsOnlyItsOwnReplicaSets(t *testing.T) {
	w := deployed(t, false)
	w.Sets = append(w.Sets, set{Name: "web-canary-1", Owner: "another", Image: "web:1", Replicas: 1, Labels: map[string]string{"app": "web"}})
	c := newCluster(t, w)
	p := migration(t, nil, nil, plan.Adopt)
	c.run(p.Actions[index(p, "label replicaset")].Command)
	got := c.world().Sets
	assert.Equal(t, "legacy", got[0].Labels["rollouts-pod-template-hash"])
	assert.NotContains(t, got[1].Labels, "rollouts-pod-template-hash")
}

// At one pod after the other, 200 of them need more than ten minutes.
func TestPlan_WaitsAsLongAsThePodsAreMany(t *testing.T) {
	for n, want := range map[int32]string{0: "600s", 20: "600s", 200: "6000s", 1 << 30: "32212254720s"} {
		p := migration(t, func(d *appsv1.Deployment) {
			d.Spec.Replicas = &n
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: 4, Replicas: n, UpdatedReplicas: n, AvailableReplicas: n}
		}, nil, plan.Adopt)
		assert.Contains(t, p.Actions[len(p.Actions)-1].Until, "Waiting up to "+want+" until Rollout web is Healthy")

		u := live(t, nil)
		u.Object["spec"].(map[string]any)["replicas"] = int64(n)
		p = rollback(t, u, plan.Adopt)
		assert.Contains(t, p.Actions[len(p.Actions)-1].Until, "--timeout="+want)
	}
}

// The status of a Rollout that existed before may belong to an older
// generation. A wait ends at its deadline, and says what it waited for.
func TestPlan_HealthyIsOfThisGeneration(t *testing.T) {
	p := migration(t, nil, nil, plan.SideBySide)
	until := p.Actions[index(p, "apply --server-side --validate=strict -f")].Until
	for status, want := range map[string]bool{"2=2=Healthy=True": true, "2=2=Healthy=": true, "12=2=Healthy=True": false, "2=1=Healthy=True": false, "2=2=Progressing=True": false, "2==Healthy=True": false} {
		script := `now=1000; date() { echo "$now"; }; kubectl() { echo "$STATUS"; }; sleep() { now=$((now + 99)); }; ` + until
		sh := exec.CommandContext(t.Context(), "sh", "-euc", script)
		sh.Env = append(sh.Environ(), "STATUS="+status)
		out, err := sh.CombinedOutput()
		assert.Equal(t, want, err == nil, status)
		assert.Contains(t, string(out), "Waiting up to 600s until Rollout web is Healthy")
		if !want {
			assert.Contains(t, string(out), "STOP: after 600s Rollout web is not Healthy: "+status)
		}
	}
}

// TestPlan_Shellcheck: no plan has a finding. .ci/run has the program.
func TestPlan_Shellcheck(t *testing.T) {
	checker, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed; internal/tools/shellcheck.sh fetches it, and .ci/run calls that")
	}
	for _, j := range journeys(t) {
		cmd := exec.CommandContext(t.Context(), checker, "-")
		cmd.Stdin = strings.NewReader(j.plan.String())
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s\n%s", j.name, out)
	}
}

// TestPlan_Script is for sh and bash, and does not close the shell that it is
// pasted into.
func TestPlan_Script(t *testing.T) {
	for _, j := range journeys(t) {
		script := j.plan.String()
		file := filepath.Join(t.TempDir(), "plan.sh")
		require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
		for _, shell := range []string{"bash", "sh"} {
			out, err := exec.CommandContext(t.Context(), shell, "-n", file).CombinedOutput()
			require.NoError(t, err, "%s\n%s\n%s", j.name, out, script)
		}
		for number, line := range strings.Split(script, "\n") {
			assert.Equal(t, strings.TrimRight(line, " \t"), line, "line %d: an editor would strip it", number+1)
			assert.NotContains(t, line, "\t", "line %d: a terminal would complete it", number+1)
		}
	}
	// Pasted, it stops and leaves the shell.
	gone := newCluster(t, world{})
	paste := exec.CommandContext(t.Context(), "bash", "--norc", "-i")
	paste.Env, paste.Dir = gone.env(), t.TempDir()
	paste.Stdin = strings.NewReader(journeys(t)[0].plan.String() + "echo still here\n")
	out, err := paste.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "STOP: ")
	assert.Contains(t, string(out), "\nstill here\n")
}

// each changes both workloads, as far as there are both.
func each(w world, change func(map[string]any)) {
	for key, o := range w.Objects {
		if !strings.HasPrefix(key, "hpa/") {
			change(o)
		}
	}
}

// bump sets a field of a spec, as a write to the server does.
func bump(o map[string]any, name string, value any) {
	o["spec"].(map[string]any)[name] = value
	meta := o["metadata"].(map[string]any)
	n, _ := strconv.Atoi(strings.TrimSuffix(jsonText(meta["generation"]), ".0"))
	meta["generation"] = n + 1
}

func release(o map[string]any, image string) {
	template, ok := o["spec"].(map[string]any)["template"].(map[string]any)
	if !ok {
		return // by a workloadRef
	}
	template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = image
	bump(o, "template", template)
}

func jsonText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}
