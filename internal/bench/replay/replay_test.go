// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/bench/replay"
	"github.com/proompteng/controllerkit/internal/demo/baseline"
	"github.com/proompteng/controllerkit/internal/world"
)

const runs = "agentruns.agents.controllerkit.dev"

var theRun = world.Key{Resource: runs, Namespace: "default", Name: "run"}

// facts are taken from the audit log of one run.
type facts struct {
	jobs int // how many were created
}

// agentRuns is the model of a controller of one AgentRun whose Job has a TTL of
// 0.
func agentRuns(t *testing.T, kind baseline.Kind) world.Model[facts] {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	begin := func(api *world.API) world.Process {
		resources := map[string]string{"AgentRun": runs, "Job": world.JobResource, "Secret": "secrets"}
		c := replay.NewClient(api, scheme, resources, runs, world.JobResource)
		r, err := baseline.NewReconciler(c, c.Live(), events.NewFakeRecorder(100), kind)
		require.NoError(t, err)
		request := ctrl.Request{}
		request.Namespace = theRun.Namespace
		request.Name = theRun.Name
		return world.Process{Memory: c.Memory, Reconcile: func(ctx context.Context) (time.Duration, error) {
			result, err := r.Reconcile(ctx, request)
			return result.RequeueAfter, err
		}}
	}
	m := world.Model[facts]{
		Name:     string(kind),
		Replicas: []func(*world.API) world.Process{begin},
		Cached:   []string{runs, world.JobResource},
		Actors:   []world.Actor{world.Jobs(batchv1.JobComplete), world.TTL(), world.GarbageCollector()},
		Note: func(f facts, w world.Write) facts {
			if w.Resource == world.JobResource && w.Verb == "create" {
				f.jobs++
			}
			return f
		},
		Check: func(_ *world.Store, f facts) string {
			if f.jobs > 1 {
				return "a second Job"
			}
			return ""
		},
		Right: func(s *world.Store, _ facts) string {
			run, err := world.As[v1alpha1.AgentRun](s.Object(theRun))
			require.NoError(t, err)
			if run.Status.Phase != v1alpha1.Succeeded {
				return "the result is lost: " + run.Status.Reason
			}
			return ""
		},
		MaxStates: 1_000_000, MaxCalm: 200,
	}
	m.Store.Now = world.Began()
	m.Store.HasStatus = map[string]bool{runs: true, world.JobResource: true}
	answer, _ := m.Store.Do(world.Request{
		Verb: "create", Key: theRun,
		Body: []byte(`{"spec":{"image":"agent","jobTTLSecondsAfterFinished":0,"ttlSecondsAfterFinished":0}}`),
	})
	require.NoError(t, answer.Err)
	return m
}

func TestUsual_LosesTheResultOfAJob(t *testing.T) {
	m := agentRuns(t, baseline.Usual)
	report, err := m.Search(t)
	t.Log(report, err)
	assert.ErrorContains(t, err, "the result is lost: WorkflowJobMissing")
}

func TestCareful_LosesNothing(t *testing.T) {
	for name, budgets := range map[string]world.Budgets{
		"Faults":   {Crashes: 1, Faults: 1},
		"OldCache": {Crashes: 1, Stale: 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := agentRuns(t, baseline.Careful)
			m.Budgets = budgets
			report, err := m.Search(t)
			t.Log(report)
			require.NoError(t, err)
			assert.True(t, report.IsComplete)
		})
	}
}

// TestCarefulByCache_RunsAJobTwice after a restart with an old cache.
func TestCarefulByCache_RunsAJobTwice(t *testing.T) {
	m := agentRuns(t, baseline.CarefulByCache)
	m.Budgets = world.Budgets{Crashes: 1, Stale: 1}
	_, err := m.Search(t)
	t.Log(err)
	assert.ErrorContains(t, err, "a second Job")
}
