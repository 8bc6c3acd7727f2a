// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/examples/agentrun/rig"
	"github.com/proompteng/controllerkit/examples/agentrun/samples"
)

// TestTheLeaderIsKilled: of two replicas one works and the other is ready; when the first dies without warning, the other takes over, and
// each run is run once. A leader that is asked to stop gives its lease back.
func TestTheLeaderIsKilled(t *testing.T) {
	t.Parallel()
	const runs = 24
	stage := newElectionStage(t)
	seen := watchJobs(t, stage)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	first := startReplica(t, stage, "first")
	eventually(t, "the first replica leads", leads(first))
	second := startReplica(t, stage, "second") // it returns once the replica is ready: a rolling update goes on with one that waits
	_, err := stage.Runs.Create(ctx, story(0), metav1.CreateOptions{})
	require.NoError(t, err)
	var creating sync.WaitGroup
	defer creating.Wait()
	creating.Go(func() {
		for i := 1; i < runs; i++ {
			if _, err := stage.Runs.Create(ctx, story(i), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
			wait(ctx, 50*time.Millisecond)
		}
	})
	ended(ctx, t, stage, story(0))
	assert.False(t, leads(second)(ctx))
	assert.Zero(t, value(ctx, t, second, "controller_queue_adds_total"), "a replica that waits has no queue that fills")
	assert.Zero(t, value(ctx, t, second, "controller_run_active"), "nor does it count what the leader counts")
	require.NoError(t, first.Kill())

	eventually(t, "the second replica leads", leads(second))
	creating.Wait()
	for i := range runs {
		ended(ctx, t, stage, story(i))
	}
	jobs := seen.byRun()
	assert.Len(t, jobs, runs)
	for run, uids := range jobs {
		assert.Len(t, uids, 1, "run %s was run more than once", run)
	}

	third := startReplica(t, stage, "third")
	holder := holds(ctx, t, stage)
	require.NoError(t, second.Stop())
	assert.NotEqual(t, holder, holds(ctx, t, stage), "the lease was given back before the process ended")
	eventually(t, "the third replica leads", leads(third))
}

// TestALostLeaseEndsTheProcess: a leader whose lease somebody else holds stops working and ends, so that it starts afresh.
func TestALostLeaseEndsTheProcess(t *testing.T) {
	t.Parallel()
	stage := newElectionStage(t)
	p := startReplica(t, stage, "only")
	run := reached(t, stage, create(t, stage, "done", nil), "Succeeded")
	eventually(t, "it leads", leads(p))

	body, err := json.Marshal(map[string]any{"spec": map[string]any{
		"holderIdentity": "somebody-else", "renewTime": metav1.NowMicro(), "leaseDurationSeconds": 60,
	}})
	require.NoError(t, err)
	_, err = stage.Kube.CoordinationV1().Leases(stage.Namespace).Patch(t.Context(), "agentrun", types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(t, err)
	require.EqualError(t, p.Wait(t.Context()), "exit status 1")
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	assert.Contains(t, string(log), "agentrun: leader election: the lease "+stage.Namespace+"/agentrun was not renewed in time")
	assert.Equal(t, "somebody-else", holds(t.Context(), t, stage), "nobody's lease is taken")
	now, err := stage.Runs.Get(t.Context(), run.Name, metav1.GetOptions{})
	require.NoError(t, err)
	holdsTogether(t, now)
}

// newElectionStage lets the controller elect a leader in the stage's namespace, and no more.
func newElectionStage(t *testing.T) *samples.Stage {
	t.Helper()
	stage := newStage(t)
	_, err := kubectl.Run(t.Context(), rbac.LeaderYAML(), "--namespace="+stage.Namespace, "apply", "--server-side", "-f", "-")
	require.NoError(t, err)
	return stage
}

// startReplica starts one of several controllers of the stage. POD_NAMESPACE says where the lease is, as the downward API does.
func startReplica(t *testing.T, stage *samples.Stage, name string) *rig.Process {
	t.Helper()
	dir := filepath.Join(logDir(t), name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	p, err := rig.Start(t.Context(), program, dir, kubeconfig, []string{"POD_NAME=" + name, "POD_NAMESPACE=" + stage.Namespace},
		"--namespaces="+stage.Namespace, "--leader-elect", "--leader-elect-lease-duration=6s")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}

// leads says whether a replica shows that it leads.
func leads(p *rig.Process) func(context.Context) bool {
	return func(ctx context.Context) bool {
		families, err := p.Metrics(ctx)
		if err != nil {
			return false
		}
		for _, m := range families["controller_leader"].GetMetric() {
			return m.GetGauge().GetValue() == 1
		}
		return false
	}
}

// value is the sum of a family's series.
func value(ctx context.Context, t *testing.T, p *rig.Process, family string) (sum float64) {
	t.Helper()
	families, err := p.Metrics(ctx)
	require.NoError(t, err)
	require.Contains(t, families, family)
	for _, m := range families[family].GetMetric() {
		sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return sum
}

// holds is who holds the stage's lease.
func holds(ctx context.Context, t *testing.T, stage *samples.Stage) string {
	t.Helper()
	lease, err := stage.Kube.CoordinationV1().Leases(stage.Namespace).Get(ctx, "agentrun", metav1.GetOptions{})
	require.NoError(t, err)
	return holderOf(lease)
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_") // what follows tells apart two processes of one pod
	return name
}
