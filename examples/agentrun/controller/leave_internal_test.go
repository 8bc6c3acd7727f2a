// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
)

// newEnded is a run that has recorded the end of its Job.
func newEnded(name string, phase v1alpha1.Phase) *v1alpha1.AgentRun {
	run, _ := newStarted(name, nil)
	run.Status.JobRef.Outcome = jobgc.Succeeded
	setPhase(run, phase, reasonSucceeded, "", time.Now())
	return run
}

// TestAJobThatIsGoneCostsNoRequest: after a restart, thousands of runs may have
// ended long ago, and their Jobs are gone.
func TestAJobThatIsGoneCostsNoRequest(t *testing.T) {
	s := newServer(newEnded("nightly", v1alpha1.Succeeded))
	s.job = func(name string) *batchv1.Job {
		assert.Fail(t, "a live read of the Job "+name)
		return nil
	}
	c := s.controller(t)
	after, err := c.step(t.Context(), types.NamespacedName{Namespace: "ns", Name: "nightly"})
	require.NoError(t, err)
	assert.Zero(t, after)
	assert.False(t, s.runs["nightly"].Status.JobRef.Released, "a mark would be a write for each run")
}

// TestAReleaseGoesBeforeRunsThatBegin: a process that is killed leaves few Jobs
// to the next one.
func TestAReleaseGoesBeforeRunsThatBegin(t *testing.T) {
	for name, tc := range map[string]struct {
		phase v1alpha1.Phase
		after time.Duration
	}{
		"Succeeded": {v1alpha1.Succeeded, 0},
		"Failed":    {v1alpha1.Failed, eventTime}, // its Event is written first
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newServer().controller(t)
				for _, waits := range []string{"one", "two", "three"} {
					c.queue.Add(types.NamespacedName{Namespace: "ns", Name: waits})
				}
				before, _ := newStarted("nightly", nil)
				c.runChanged(before, newEnded("nightly", tc.phase))
				if tc.after > 0 {
					first, _ := c.queue.Get()
					assert.Equal(t, "one", first.Name)
				}
				time.Sleep(tc.after)
				synctest.Wait()
				next, _ := c.queue.Get()
				assert.Equal(t, "nightly", next.Name)
				c.queue.ShutDown()
			})
		})
	}
}
