// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestRequestsOfANormalRun reads in the API server's own audit log what a run
// costs: at most 3.0 writes without a release patch and 4.0 with one, and one
// more where Running is a write of its own, because the Job started late. These
// are the creation of its Job, two writes of its status, and one patch of the
// Job unless the TTL of the creation is already the final one. The owner is
// read before a creation, and nothing else is: an end that the cache has is
// stored.
//
//req:shows J2
func TestRequestsOfANormalRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]costs{
		"Released":      {"600", 1, 4.0},
		"CreatedAsItIs": {"168h", 0, 3.0}, // as long as a Job whose result is not recorded
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs = 20
			s := newStage(t)
			p := s.agent(t, tc.ttl)
			for i := range runs {
				s.createAgentRun(t, fmt.Sprintf("run-%02d", i))
			}
			all := func(context.Context) bool { return s.released(t) == runs }
			suite.Eventually(t, "all runs have ended and their Jobs are released", all)
			require.NoError(t, p.Stop())
			writes := s.assertCost(t, runs, tc)

			// A restarted controller finds all of them done, without a request for any.
			p = s.agent(t, tc.ttl)
			s.createAgentRun(t, "last")
			last := func(context.Context) bool { return s.released(t) == runs+1 }
			suite.Eventually(t, "a run after the others has ended too", last)
			require.NoError(t, p.Stop())
			again := s.audited(t)
			assert.Equal(t, (runs+1)*tc.patches, again["patch jobs"])
			assert.Equal(t, runs+1, again["get agentruns"])
			assert.Zero(t, again["get jobs"])
			assert.LessOrEqual(t, again["patch agentruns/status"], writes+3)
		})
	}
}

// costs is what runs may cost with a TTL of their Jobs.
type costs struct {
	ttl     string
	patches int     // of a run
	most    float64 // writes of a run, without that of Running
}

// assertCost compares the requests about a number of runs with their costs, and
// returns the number of status writes.
func (s *stage) assertCost(t *testing.T, runs int, of costs) (writes int) {
	t.Helper()
	got := s.audited(t)
	writes = got["patch agentruns/status"]
	delete(got, "patch agentruns/status")
	ran := len(s.sent(t, func(r controlplane.Request) bool {
		return r.Kind() == "patch agentruns/status" && r.Done() && bytes.Contains(r.Body, []byte(`"phase":"Running"`))
	}))
	cost := float64(writes+got["create jobs"]+got["patch jobs"]-ran) / float64(runs)
	t.Logf("gate: %d runs cost %v, and %d status writes, %d of them Running: %.2f writes a run without those", runs, got, writes, ran, cost)
	assert.LessOrEqual(t, cost, of.most)
	for _, verb := range []string{"list", "watch"} { // of the informers
		assert.LessOrEqual(t, got[verb+" jobs"], 2)
		delete(got, verb+" jobs")
		delete(got, verb+" agentruns")
	}
	want := map[string]int{"create jobs": runs, "get agentruns": runs}
	if of.patches > 0 {
		want["patch jobs"] = runs
	}
	assert.Equal(t, want, got, "no other read, and at most one patch")
	assert.LessOrEqual(t, ran, runs, "once in a run")
	assert.GreaterOrEqual(t, writes, runs, "the result; that it runs too, if it still did when the controller looked")
	return writes
}

// agent starts the example with a TTL of its Jobs.
func (s *stage) agent(t *testing.T, ttl string) *rig.Process {
	t.Helper()
	return plane.Start(t, s.Stage, suite.Controller{Env: []string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=" + ttl}})
}

func (s *stage) createAgentRun(t *testing.T, name string) {
	t.Helper()
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AgentRunSpec{Image: "busybox:1.37"}}
	_, err := s.Runs.Create(t.Context(), run, metav1.CreateOptions{})
	require.NoError(t, err)
}

// released counts the runs whose Job is released, by the status of the run or
// by the annotation of the Job.
func (s *stage) released(t *testing.T) (n int) {
	t.Helper()
	list, err := s.Runs.List(t.Context(), metav1.ListOptions{})
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

// audited counts the requests of the example about the stage's namespace by
// verb and resource, those about events apart.
func (s *stage) audited(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, r := range s.sent(t, func(r controlplane.Request) bool { return r.For.Resource != "events" }) {
		counts[r.Kind()]++
	}
	require.NotEmpty(t, counts, "the audit log has requests")
	return counts
}

// sent are the example's requests of a kind about the stage's namespace.
func (s *stage) sent(t *testing.T, of func(controlplane.Request) bool) []controlplane.Request {
	t.Helper()
	return plane.Requests(t, func(r controlplane.Request) bool {
		return r.User.Username == rig.User && r.For.Namespace == s.Namespace && of(r)
	})
}
