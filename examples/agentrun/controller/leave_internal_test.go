// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	for _, phase := range []v1alpha1.Phase{v1alpha1.Succeeded, v1alpha1.Failed} {
		t.Run(string(phase), func(t *testing.T) {
			c := newServer().controller(t)
			for _, waits := range []string{"one", "two", "three"} {
				c.queue.Add(types.NamespacedName{Namespace: "ns", Name: waits})
			}
			before, _ := newStarted("nightly", nil)
			c.runChanged(before, newEnded("nightly", phase))
			next, _ := c.queue.Get()
			assert.Equal(t, "nightly", next.Name)
			c.queue.ShutDown()
		})
	}
}

// controllerOfEnded has the Job of the run in its cache, which has ended. It
// counts the requests about Jobs.
func (s *server) controllerOfEnded(
	t *testing.T, run *v1alpha1.AgentRun, end batchv1.JobConditionType,
) (c *Controller, requests *int) {
	t.Helper()
	requests = new(int)
	c = s.controllerOn(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/jobs/") {
			*requests++
		}
		return s.RoundTrip(r)
	}), Options{})
	_, job := newStarted(run.Name, nil)
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
	job.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: corev1.ConditionTrue}}
	require.NoError(t, c.scopes[0].jobs.GetStore().Add(job))
	return c, requests
}

// TestAReleaseWaitsForTheEvent: a process that is killed before the release of
// a failed run's Job leaves the next one to repeat the Event.
func TestAReleaseWaitsForTheEvent(t *testing.T) {
	tests := map[string]struct {
		reason   string
		phase    v1alpha1.Phase
		pending  string // the run of an Event that is not written
		since    time.Duration
		released bool
	}{
		"NotWritten": {"A kill now would lose the Event if the Job were released.", v1alpha1.Failed, "nightly", 0, false},
		"Slow":       {"The API server needs long for an Event.", v1alpha1.Failed, "nightly", time.Second, false},
		"AnotherRun": {"Its Event does not matter.", v1alpha1.Failed, "weekly", 0, true},
		"Written":    {"A kill now would repeat the Event.", v1alpha1.Failed, "", 0, true},
		"Refused":    {"The server may take no Event for hours.", v1alpha1.Failed, "nightly", 2 * time.Second, true},
		"Succeeded":  {"It has no Event.", v1alpha1.Succeeded, "weekly", 0, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newEnded("nightly", tc.phase)
				run.Status.UpdatedAt = new(metav1.NewTime(time.Now().Add(-time.Hour))) // by a process that was killed
				s := newServer(run)
				c, requests := s.controllerOfEnded(t, run, batchv1.JobComplete)
				if tc.pending != "" {
					c.report(newEnded(tc.pending, v1alpha1.Failed), errors.New("exit code 1"))
				}
				time.Sleep(tc.since)
				_, _ = c.step(t.Context(), keyOf(run)) // the server takes no patch of a Job
				assert.Equal(t, tc.released, *requests > 0, tc.reason)
				time.Sleep(eventTime)
				synctest.Wait()
				if tc.released {
					assert.Zero(t, c.queue.Len())
				} else {
					assert.Equal(t, 1, c.queue.Len(), "it is looked at again")
				}
				c.queue.ShutDown()
			})
		})
	}
}

// TestAReleaseNeedsNoWatch: the watch of runs may be broken for a minute when a
// run ends, and bring its end late.
func TestAReleaseNeedsNoWatch(t *testing.T) {
	for phase, end := range map[v1alpha1.Phase]batchv1.JobConditionType{
		v1alpha1.Succeeded: batchv1.JobComplete,
		v1alpha1.Failed:    batchv1.JobFailed,
	} {
		t.Run(string(phase), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, _ := newStarted("nightly", new(metav1.Now()))
				s := newServer(run)
				c, requests := s.controllerOfEnded(t, run, end)
				c.queue.Add(keyOf(run))
				leading, stop := context.WithTimeout(t.Context(), eventTime+2*eventWait)
				defer stop()
				c.lead(leading, t.Context())
				assert.Equal(t, phase, s.runs["nightly"].Status.Phase)
				assert.NotZero(t, *requests)
			})
		})
	}
}
