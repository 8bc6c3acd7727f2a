// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestRequestsOfANormalRun reads in the API server's own audit log what a run
// costs: the creation of its Job, two writes of its status, one more where
// Running is a write of its own because the Job started late, and one patch of
// the Job unless the TTL of the creation is already the final one. The owner is
// read before a creation, and nothing else is: an end that the cache has is
// stored.
//
//req:shows J2
func TestRequestsOfANormalRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ttl     string
		patches int // of a run
	}{
		"Released":      {"600", 1},
		"CreatedAsItIs": {"168h", 0}, // as long as a Job whose result is not recorded
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const runs = 20
			s := newStage(t)
			s.playRuns(t, tc.ttl, 0, runs, tc.patches)
			got, late := s.audited(t)
			written := got["patch agentruns/status"]
			t.Logf("%d runs cost %v, and %d of the status writes say Running", runs, got, late)
			assert.LessOrEqual(t, written, 2*runs+late)
			assert.GreaterOrEqual(t, written, runs, "the result; that it runs too, if it still did when the controller looked")
			assert.LessOrEqual(t, late, runs, "once in a run")
			assert.Equal(t, runs*tc.patches, got["patch jobs"])
			assert.Equal(t, runs, got["create jobs"])
			assert.Equal(t, runs, got["get agentruns"])
			assert.Zero(t, got["get jobs"])
			assert.LessOrEqual(t, got["list jobs"]+got["watch jobs"], 4, "the informers")
			known := []string{
				"create jobs", "patch jobs", "list jobs", "watch jobs",
				"get agentruns", "patch agentruns/status", "list agentruns", "watch agentruns",
			}
			assert.Subset(t, known, slices.Collect(maps.Keys(got)), "no other request")

			// A restarted controller finds all of them done, without a request for any.
			s.playRuns(t, tc.ttl, runs, runs+1, tc.patches)
			again, _ := s.audited(t)
			assert.Equal(t, (runs+1)*tc.patches, again["patch jobs"])
			assert.Equal(t, runs+1, again["get agentruns"])
			assert.Zero(t, again["get jobs"])
			assert.LessOrEqual(t, again["patch agentruns/status"], written+3)
		})
	}
}

// playRuns starts the example with a TTL of its Jobs, plays runs until there
// are as many, each with a number of patches of its Job, and ends the example.
func (s *stage) playRuns(t *testing.T, ttl string, first, until, patches int) {
	t.Helper()
	p := plane.Start(t, s.Stage, suite.Controller{Env: []string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=" + ttl}})
	for i := first; i < until; i++ {
		_, err := s.Runs.Create(t.Context(), play.NewRun(fmt.Sprintf("run-%02d", i)), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	suite.AllEnded(t, s.Stage, until)
	suite.Eventually(t, "their Jobs are released", func(context.Context) bool {
		counts, _ := s.audited(t)
		return counts["patch jobs"] >= until*patches
	})
	require.NoError(t, p.Stop())
}

// audited counts the requests of the example about the stage's namespace by
// verb and resource, without those about Events, and the writes that say
// Running.
func (s *stage) audited(t *testing.T) (counts map[string]int, late int) {
	t.Helper()
	counts = map[string]int{}
	for _, r := range plane.Requests(t, func(r controlplane.Request) bool {
		return r.User.Username == rig.User && r.For.Namespace == s.Namespace && r.For.Resource != "events"
	}) {
		counts[r.Kind()]++
		isStatus := r.Kind() == "patch agentruns/status"
		if isStatus && bytes.Contains(r.Body, []byte(`"phase":"Running"`)) {
			late++
		}
	}
	return counts, late
}
