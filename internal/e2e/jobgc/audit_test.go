// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestRequestsOfANormalRun reads in the API server's own audit log what a run
// costs: at most 3.0 writes without a release patch and 4.0 with one, and one
// more where Running is a write of its own. These are the creation of its Job,
// two writes of its status, and one patch of the Job unless the TTL of the
// creation is already the final one. The owner is read before a
// creation, and nothing else is: an end that the cache has is stored.
//
//req:shows J2
func TestRequestsOfANormalRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ttl     string
		patches int     // of a run
		most    float64 // writes of a run, without that of Running
	}{
		"Released":      {"600", 1, 4.0},
		"CreatedAsItIs": {"168h", 0, 3.0}, // which is that of Jobs whose result is not recorded
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs = 20
			s := newStage(t)
			stage, err := play.NewStage(plane.Config(), s.namespace)
			require.NoError(t, err)
			logs := filepath.Join(plane.Dir(), strings.ReplaceAll(t.Name(), "/", "-"))
			require.NoError(t, os.MkdirAll(logs, 0o700))
			start := func() *rig.Process {
				p, err := rig.Start(t.Context(), program, logs, kubeconfig, []string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=" + tc.ttl}, "--namespaces="+s.namespace)
				require.NoError(t, err)
				return p
			}
			create := func(name string) {
				run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AgentRunSpec{Image: "busybox:1.37"}}
				_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			released := func() (n int) {
				list, err := stage.Runs.List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				jobs, err := s.jobs.List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				for _, run := range list.Items {
					if run.Status.JobRef != nil && run.Status.JobRef.Released {
						n++
					}
				}
				for _, job := range jobs.Items {
					if job.Annotations["jobgc.controllerkit.dev/released"] != "" {
						n++
					}
				}
				return n
			}
			p, running := start(), s.watchRunning(t, stage)
			for i := range runs {
				create(fmt.Sprintf("run-%02d", i))
			}
			suite.Eventually(t, "all runs have ended and their Jobs are released", func(context.Context) bool { return released() == runs })
			require.NoError(t, p.Stop())
			got := s.audited(t)
			writes := got["patch agentruns/status"]
			delete(got, "patch agentruns/status")
			ran := running()
			cost := float64(writes+got["create jobs"]+got["patch jobs"]-ran) / runs
			t.Logf("gate: %d runs cost %v, and %d status writes, %d of them Running: %.2f writes a run without those", runs, got, writes, ran, cost)
			assert.LessOrEqual(t, cost, tc.most)
			for _, verb := range []string{"list", "watch"} { // of the informers
				assert.LessOrEqual(t, got[verb+" jobs"], 2)
				delete(got, verb+" jobs")
				delete(got, verb+" agentruns")
			}
			want := map[string]int{"create jobs": runs, "get agentruns": runs}
			if tc.patches > 0 {
				want["patch jobs"] = runs
			}
			assert.Equal(t, want, got, "no other read, and at most one patch")
			assert.LessOrEqual(t, ran, runs, "once in a run")
			assert.GreaterOrEqual(t, writes-ran, 2*runs, "uid, result")

			// A restarted controller finds all of them done, without a request for any.
			p = start()
			create("last")
			suite.Eventually(t, "a run after the others has ended too", func(context.Context) bool { return released() == runs+1 })
			require.NoError(t, p.Stop())
			again := s.audited(t)
			assert.Equal(t, (runs+1)*tc.patches, again["patch jobs"])
			assert.Equal(t, runs+1, again["get agentruns"])
			assert.Zero(t, again["get jobs"])
			assert.LessOrEqual(t, again["patch agentruns/status"], writes+3)
		})
	}
}

// watchRunning counts the writes that say that a run is Running, until the
// function that it returns is called.
func (s *stage) watchRunning(t *testing.T, on *play.Stage) func() int {
	t.Helper()
	watch, err := on.Runs.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	counted := make(chan int)
	go func() {
		phases, n := map[types.UID]v1alpha1.Phase{}, 0
		for event := range watch.ResultChan() {
			if run, ok := event.Object.(*v1alpha1.AgentRun); ok {
				if phases[run.UID] != v1alpha1.Running && run.Status.Phase == v1alpha1.Running {
					n++
				}
				phases[run.UID] = run.Status.Phase
			}
		}
		counted <- n
	}()
	return func() int {
		watch.Stop()
		return <-counted
	}
}

// audited counts the requests of the example about the stage's namespace by
// verb and resource, those about events apart.
func (s *stage) audited(t *testing.T) map[string]int {
	t.Helper()
	all, err := plane.Requests()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, r := range all {
		if r.User.Username == rig.User && r.For.Namespace == s.namespace && r.For.Resource != "events" {
			counts[r.Kind()]++
		}
	}
	require.NotEmpty(t, counts, "the audit log has requests")
	return counts
}
