// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// progressing gives a Rollout the condition Progressing, as the controller of
// v1.10.1 writes it. Its other fields stay those of the version before.
func progressing(status, reason string) []any {
	return []any{
		map[string]any{"type": "Healthy", "status": "True", "reason": "RolloutHealthy"},
		map[string]any{
			"type": "Progressing", "status": status, "reason": reason,
			"message": `Failed to create new replica set "web-b": no such image`, "lastUpdateTime": "2026-01-02T03:04:05Z",
		},
	}
}

// TestRollback_RefusesARefusedReplicaSet: the generation is observed, both
// hashes are of the version before, and no pod has run the template.
func TestRollback_RefusesARefusedReplicaSet(t *testing.T) {
	cases := map[string]struct {
		reason string
		status map[string]any
		want   []string
	}{
		"Refused": {
			"The plan would give a version to all pods that no pod has run.",
			map[string]any{"stableRS": "a", "currentPodHash": "a", "conditions": progressing("False", "ReplicaSetCreateError")},
			[]string{"live.status.stableRS"},
		},
		"NotProgressing": {
			"A reason of another release.",
			map[string]any{"stableRS": "a", "currentPodHash": "a", "conditions": progressing("False", "Dreaming")},
			[]string{"live.status.stableRS"},
		},
		"TimedOut": {
			"Its pods are not ready, and they run this version.",
			map[string]any{"stableRS": "a", "currentPodHash": "a", "conditions": progressing("False", "ProgressDeadlineExceeded")},
			nil,
		},
		"Progressed": {
			"All pods run this version.",
			map[string]any{"stableRS": "a", "currentPodHash": "a", "conditions": progressing("True", "NewReplicaSetAvailable")},
			nil,
		},
		"FirstOfAll": {
			"No earlier version exists that a pod could run.",
			map[string]any{"conditions": progressing("False", "ReplicaSetCreateError")},
			nil,
		},
	}
	for name, tc := range cases {
		for _, m := range []plan.Method{plan.SideBySide, plan.Adopt} {
			t.Run(name+string(m), func(t *testing.T) {
				u := live(t, func(r *rollout.Rollout) { r.Spec.Template.Spec.Containers[0].Image = "web:2" })
				tc.status["observedGeneration"], tc.status["phase"] = "2", "Healthy"
				u.Object["status"] = tc.status
				to := manifest()
				to.Spec.Template.Spec.Containers[0].Image = "web:2"
				_, errs := plan.Rollback(u, to, nil, plan.Options{Method: m})
				require.ElementsMatch(t, tc.want, paths(errs), tc.reason)
				if len(tc.want) > 0 {
					assert.Contains(t, errs[0].Detail, "The controller cannot create the ReplicaSet of the template")
				}
				p, errs := plan.Rollback(u, to, nil, plan.Options{Method: m, AllowTemplateChange: true})
				require.Empty(t, errs, "the caller has compared the images")
				assert.Len(t, p.Warnings, len(tc.want), p.Warnings)
			})
		}
	}
}

// TestRollback_StopsAtAReplicaSetThatIsRefusedLater: the plan was made before.
// For a workloadRef neither the generation nor a hash shows the change.
//
//req:shows R5
func TestRollback_StopsAtAReplicaSetThatIsRefusedLater(t *testing.T) {
	for _, m := range []plan.Method{plan.SideBySide, plan.Adopt, plan.Reference} {
		t.Run(string(m), func(t *testing.T) {
			u := live(t, referredBy(m))
			p := rollback(t, u, m)
			w := rolledOut(t, u, false)
			require.NoError(t, unstructured.SetNestedSlice(w.Objects["rollout/web"], progressing("False", "ReplicaSetCreateError"), "status", "conditions"))
			c := newCluster(t, world{})
			c.freeze(w)
			before := c.world()
			out, err := c.try(p.String())
			require.Error(t, err, out)
			assert.Contains(t, out, "STOP: Rollout web has changed")
			assert.Contains(t, out, "current: a (ReplicaSetCreateError)")
			assert.JSONEq(t, jsonText(before), jsonText(c.world()), "nothing is touched")
		})
	}
}

// TestPlan_HealthyIsNotARefusedReplicaSet: the phase stays Healthy past every
// deadline. The wait ends at its own, and shows the controller's message.
func TestPlan_HealthyIsNotARefusedReplicaSet(t *testing.T) {
	p := migration(t, nil, nil, plan.SideBySide)
	until := p.Actions[index(p, "apply --server-side --validate=strict -f")].Until
	for status, want := range map[string]bool{"True": true, "Unknown": true, "False": false} {
		u := live(t, nil)
		require.NoError(t, unstructured.SetNestedSlice(u.Object, progressing(status, "ReplicaSetCreateError"), "status", "conditions"))
		c := newCluster(t, world{})
		c.freeze(world{Objects: map[string]map[string]any{"rollout/web": u.Object}})
		sh := exec.CommandContext(t.Context(), "sh", "-euc", "now=1000; date() { echo $now; }; sleep() { now=$((now + 99)); }\n"+until)
		sh.Env = c.env()
		out, err := sh.CombinedOutput()
		assert.Equal(t, want, err == nil, "%s: %s", status, out)
		if !want {
			assert.Contains(t, string(out), `ReplicaSetCreateError: Failed to create new replica set "web-b": no such image`)
		}
	}
}

// freeze replaces the world with w as it is: no controller acts on it first.
func (c *cluster) freeze(w world) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = w
}
