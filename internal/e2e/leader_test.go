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
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// TestTheLeaderIsKilled: of two replicas one works and the other is ready. When
// the first is killed, the other takes over, and each run runs once. A leader
// that stops normally releases its lease.
func TestTheLeaderIsKilled(t *testing.T) {
	t.Parallel()
	const runs = 24
	stage := newElectionStage(t)
	seen := watchJobs(t, stage)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	first := startReplica(t, stage, "first")
	eventually(t, "the first replica leads", leads(first))
	second := startReplica(t, stage, "second") // it returns when the replica is ready, although it waits for the lease
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
	assert.Zero(t, value(ctx, t, second, "controller_queue_adds_total"), "The queue of a waiting replica stays empty.")
	assert.Zero(t, value(ctx, t, second, "controller_run_active"), "A waiting replica does not count active runs.")
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
	assert.NotEqual(t, holder, holds(ctx, t, stage), "the lease was released before the process ended")
	eventually(t, "the third replica leads", leads(third))
}

// TestALostLeaseEndsTheProcess: a leader that loses its lease to another holder
// stops and exits, so that it restarts.
func TestALostLeaseEndsTheProcess(t *testing.T) {
	t.Parallel()
	stage := newElectionStage(t)
	p := startReplica(t, stage, "only")
	run := reached(t, stage, create(t, stage, "done", nil), "Succeeded")
	eventually(t, "it leads", leads(p))

	body, err := json.Marshal(map[string]any{"spec": map[string]any{
		"holderIdentity": "other-process", "renewTime": metav1.NowMicro(), "leaseDurationSeconds": 60,
	}})
	require.NoError(t, err)
	_, err = stage.Kube.CoordinationV1().Leases(stage.Namespace).Patch(t.Context(), "agentrun", types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(t, err)
	require.EqualError(t, p.Wait(t.Context()), "exit status 1")
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	assert.Contains(t, string(log), "agentrun: leader election: the lease "+stage.Namespace+"/agentrun was not renewed in time")
	assert.Equal(t, "other-process", holds(t.Context(), t, stage), "The other holder keeps its lease.")
	now, err := stage.Runs.Get(t.Context(), run.Name, metav1.GetOptions{})
	require.NoError(t, err)
	holdsTogether(t, now)
}

// newElectionStage grants only what the controller needs to elect a leader in
// the stage's namespace.
func newElectionStage(t *testing.T) *play.Stage {
	t.Helper()
	stage := newStage(t)
	_, err := kubectl.Run(t.Context(), rbac.LeaderYAML(), "--namespace="+stage.Namespace, "apply", "--server-side", "-f", "-")
	require.NoError(t, err)
	return stage
}

// startReplica starts one of several controllers of the stage. POD_NAMESPACE is
// the namespace of the lease, as with the downward API.
func startReplica(t *testing.T, stage *play.Stage, name string) *rig.Process {
	t.Helper()
	dir := filepath.Join(logDir(t), name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	p, err := rig.Start(t.Context(), program, dir, kubeconfig, []string{"POD_NAME=" + name, "POD_NAMESPACE=" + stage.Namespace},
		"--namespaces="+stage.Namespace, "--leader-elect", "--leader-elect-lease-duration=6s")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}

// leads reports whether a replica's metrics show that it leads.
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

// value returns the sum of a family's series.
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

// holds returns the holder of the stage's lease.
func holds(ctx context.Context, t *testing.T, stage *play.Stage) string {
	t.Helper()
	lease, err := stage.Kube.CoordinationV1().Leases(stage.Namespace).Get(ctx, "agentrun", metav1.GetOptions{})
	require.NoError(t, err)
	return holderOf(lease)
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_") // the rest distinguishes two processes of one pod
	return name
}
