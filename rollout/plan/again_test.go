// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proompteng/controllerkit/rollout/plan"
)

// A runbook that ended at a wait is run again, and then the Rollout has a ReplicaSet of its own.
func TestAdoptRunAgainLeavesTheReplicaSetOfTheRollout(t *testing.T) {
	p := migration(t, nil, nil, plan.Adopt)
	command := p.Actions[index(p, "label replicaset")].Command
	assert.NotContains(t, command, "--overwrite")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `kubectl() { printf %s "$6"; }; `+command).Output()
	require.NoError(t, err)
	selector, err := labels.Parse(string(out))
	require.NoError(t, err, "%s", out)
	assert.True(t, selector.Matches(labels.Set{"app": "web", "pod-template-hash": "a"}), "%s", out)
	assert.False(t, selector.Matches(labels.Set{"app": "web", "rollouts-pod-template-hash": "b"}), "%s", out)
	assert.False(t, selector.Matches(labels.Set{"app": "web", "rollouts-pod-template-hash": ""}), "%s", out)
}

// At one pod after the other, 200 of them need more than ten minutes.
func TestWaitsAreAsLongAsThePodsAreMany(t *testing.T) {
	for n, want := range map[int32]string{0: "600s", 20: "600s", 200: "6000s", 1 << 30: "32212254720s"} {
		p := migration(t, func(d *appsv1.Deployment) {
			d.Spec.Replicas = &n
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: 4, Replicas: n, UpdatedReplicas: n, AvailableReplicas: n}
		}, nil, plan.Adopt)
		assert.Contains(t, p.Actions[len(p.Actions)-1].Until, "--timeout="+want+"\n")

		u := live(t, nil)
		u.Object["spec"].(map[string]any)["replicas"] = int64(n)
		p = rollback(t, u, plan.Adopt)
		assert.Contains(t, p.Actions[len(p.Actions)-1].Until, "--timeout="+want)
	}
}

// The status of a Rollout that was there before may be that of an older generation.
func TestHealthyIsOfThisGeneration(t *testing.T) {
	p := migration(t, nil, nil, plan.SideBySide)
	until := p.Actions[index(p, "apply --server-side --validate=strict")].Until
	for status, want := range map[string]bool{"2=2=Healthy": true, "12=2=Healthy": false, "2=1=Healthy": false, "2=2=Progressing": false, "2==Healthy": false} {
		// The wait is satisfied by any status.
		script := `kubectl() { case "$*" in *" wait "*) ;; *) echo "$STATUS" ;; esac; }; sleep() { exit 3; }; ` + until
		sh := exec.CommandContext(t.Context(), "sh", "-euc", script)
		sh.Env = append(sh.Environ(), "STATUS="+status)
		assert.Equal(t, want, sh.Run() == nil, status)
	}
}
