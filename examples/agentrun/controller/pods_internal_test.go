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
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// A quota or pod security refuses the pods of a Job that has started. Nothing
// of the Job changes after that.
func TestARunWithoutAPod_IsDegradedUntilItHasOne(t *testing.T) {
	for name, skew := range map[string]time.Duration{"SameClock": 0, "JobClockAhead": time.Hour, "JobClockBehind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := metav1.NewTime(time.Now().Add(skew))
				run, job := newStarted("nightly", &began)
				s := newServer(run)
				c := s.controller(t)
				require.NoError(t, c.scopes[0].jobs.GetStore().Add(job))
				withPod := job.DeepCopy()
				withPod.Status.Active = 1
				live := job
				reads := func(string) *batchv1.Job { return live }
				s.job = reads
				look := func() time.Duration {
					after, err := c.step(t.Context(), keyOf(run))
					require.NoError(t, err)
					s.refresh(t, c)
					return after
				}
				says := func(reason string, writes, events int) {
					t.Helper()
					st := s.runs[run.Name].Status
					assert.Equal(t, v1alpha1.Running, st.Phase)
					assert.Equal(t, reason, st.Reason)
					bad := apimeta.FindStatusCondition(st.Conditions, degraded)
					require.NotNil(t, bad)
					assert.Equal(t, reason == reasonNoPods, bad.Status == metav1.ConditionTrue)
					assert.Equal(t, writes, s.writes[run.Name])
					assert.EqualValues(t, events, c.recorder.Stats().Recorded)
				}
				assert.Equal(t, podsTimeout, look(), "no event of the Job causes the next look")
				says(reasonRunning, 1, 0)
				time.Sleep(podsTimeout - time.Second)
				look()
				says(reasonRunning, 1, 0)
				time.Sleep(time.Second)
				s.job = nil
				assert.Equal(t, podsTimeout, look(), "the Job is gone, and the copy is old")
				s.job = reads
				live = withPod
				assert.Equal(t, podsTimeout, look())
				says(reasonRunning, 1, 0) // the watch is broken, and the copy is old
				live = job
				look()
				says(reasonNoPods, 2, 1)
				time.Sleep(time.Second)
				look()
				says(reasonNoPods, 2, 2) // the same failure, which is counted

				require.NoError(t, c.scopes[0].jobs.GetStore().Add(withPod))
				assert.Equal(t, heartbeat, look())
				says(reasonRunning, 3, 3) // recovered
			})
		})
	}
}
