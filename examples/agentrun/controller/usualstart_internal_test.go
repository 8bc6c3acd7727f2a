// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// TestANewJob_IsRecordedWhenItRuns: one write has its Ref and the phase. If the
// Job does not start soon, the run says that it waits.
func TestANewJob_IsRecordedWhenItRuns(t *testing.T) {
	for name, c := range map[string]struct {
		age   time.Duration // of the Job
		start bool
		want  v1alpha1.Phase // empty: nothing is written
		after time.Duration
	}{
		"New":          {0, false, "", usualStart},
		"Old":          {time.Second, false, "", usualStart - time.Second},
		"Late":         {3 * time.Second, false, v1alpha1.Pending, 0},
		"Running":      {0, true, v1alpha1.Running, 0},
		"AnotherClock": {-time.Hour, false, v1alpha1.Pending, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, job := newStarted("nightly", nil)
				run.Status = v1alpha1.AgentRunStatus{}
				job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
				job.CreationTimestamp = metav1.NewTime(time.Now().Add(-c.age))
				if c.start {
					job.Status.StartTime = new(metav1.Now())
				}
				s := newServer(run)
				ctl := s.controllerOn(t, s, Options{})
				require.NoError(t, ctl.scopes[0].jobs.GetStore().Add(job))
				after, err := ctl.step(t.Context(), keyOf(run))
				require.NoError(t, err)
				st := s.runs[run.Name].Status
				assert.Equal(t, c.want, st.Phase)
				if c.want == "" {
					assert.Equal(t, c.after, after)
					assert.Zero(t, s.writes[run.Name])
					return
				}
				assert.Equal(t, job.UID, st.JobRef.UID)
				assert.Equal(t, 1, s.writes[run.Name])
			})
		})
	}
}

// TestANewJob_IsRecordedWithoutARead when the cache does not show it after the
// usual time, because its watch is broken.
func TestANewJob_IsRecordedWithoutARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, _ := newStarted("nightly", nil)
		run.Status = v1alpha1.AgentRunStatus{}
		setDegraded(run, "QuotaExceeded", "no room", time.Now()) // the creation was refused before
		s := newServer(run)
		reads := 0
		ctl := s.controllerOn(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.Method == http.MethodPost:
				job, err := sentJob(r)
				if err != nil {
					return nil, err
				}
				job.UID = "uid-of-job"
				job.CreationTimestamp = metav1.Now()
				s.job = func(string) *batchv1.Job { return job }
				return reply(r, http.StatusCreated, job)
			case strings.Contains(r.URL.Path, "/jobs/"):
				reads++
			}
			return s.RoundTrip(r)
		}), Options{})
		created := time.Now()
		after, err := ctl.step(t.Context(), keyOf(run))
		require.NoError(t, err)
		assert.Equal(t, usualStart, after)
		assert.Zero(t, s.writes[run.Name])
		time.Sleep(time.Second)
		after, err = ctl.step(t.Context(), keyOf(run)) // someone has edited the run
		require.NoError(t, err)
		assert.Equal(t, usualStart-time.Second, after)
		assert.Zero(t, s.writes[run.Name])
		time.Sleep(after)
		_, err = ctl.step(t.Context(), keyOf(run))
		require.NoError(t, err)
		st := s.runs[run.Name].Status
		require.NotNil(t, st.JobRef)
		assert.EqualValues(t, "uid-of-job", st.JobRef.UID)
		assert.Equal(t, created.Unix(), st.JobRef.CreatedAt.Unix())
		assert.Equal(t, v1alpha1.Pending, st.Phase)
		assert.True(t, apimeta.IsStatusConditionFalse(st.Conditions, "Degraded"))
		assert.Zero(t, reads, "of the Job")
	})
}
