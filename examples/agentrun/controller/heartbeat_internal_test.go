// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// Nothing happens to a run for 35 minutes. The controller writes a run that has
// not ended every ten minutes, so that an old updatedAt means a stuck
// controller. It leaves a run that has ended alone.
//
//req:shows S2
func TestOnlyRunsThatAreNotTerminalBeat(t *testing.T) {
	tests := map[string]struct {
		reason string
		phase  v1alpha1.Phase
		want   []time.Duration // until each write
	}{
		"Waiting":   {"Its pod is not scheduled.", v1alpha1.Pending, []time.Duration{10 * time.Minute, 20 * time.Minute, 30 * time.Minute}},
		"Running":   {"It takes its time.", v1alpha1.Running, []time.Duration{10 * time.Minute, 20 * time.Minute, 30 * time.Minute}},
		"Succeeded": {"There may be thousands, for 30 days.", v1alpha1.Succeeded, nil},
		"Failed":    {"The same.", v1alpha1.Failed, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := metav1.Now()
				run, job := newStarted("nightly", nil)
				if tc.phase == v1alpha1.Running {
					job.Status.StartTime = &begun
					job.Status.Active = 1
				}
				if tc.phase != v1alpha1.Pending {
					run.Status.StartedAt = &begun
					setPhase(run, tc.phase, reasonRunning, "", begun.Time)
				}
				run.Status.ObservedGeneration, run.Status.UpdatedAt = run.Generation, &begun
				if run.Status.Phase.Progress() == status.Done {
					run.Status.FinishedAt, run.Status.JobRef.Released = &begun, true
				}
				s := newServer(run)
				c := s.controller(t)
				require.NoError(t, c.scopes[0].jobs.GetStore().Add(job))
				var beats []time.Duration
				s.wrote = func(now *v1alpha1.AgentRun) {
					beats = append(beats, time.Since(begun.Time))
					assert.NoError(t, c.scopes[0].runs.GetStore().Add(now))
				}
				var worker sync.WaitGroup
				worker.Go(func() { c.work(t.Context(), t.Context()) })
				c.queue.Add(keyOf(run))
				<-time.After(35 * time.Minute)
				c.queue.Add(keyOf(run)) // a user edits a label
				synctest.Wait()
				c.queue.ShutDown()
				worker.Wait()
				assert.Equal(t, tc.want, beats, tc.reason)
				assert.Equal(t, tc.phase, s.runs[run.Name].Status.Phase)
			})
		})
	}
}
