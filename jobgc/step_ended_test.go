// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_DeletingOwnerWithoutANamespace: the creation was cut off before the
// Ref was written. The Job has an outcome, which the owner waits for.
func TestStep_DeletingOwnerWithoutANamespace(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.stored.Namespace = ""
	s.edit = func(r *jobgc.Request) {
		r.Job = func() (*batchv1.Job, error) { j := ownedJob(); j.Name, j.Namespace = "", "ns"; return j, nil }
	}
	s.step(t)
	s.stored.job = nil
	s.change(jobOfRun, finish(time.Now()))
	s.store.sync(s.server)
	s.stored.DeletionTimestamp = ptr.To(metav1.Now())
	_, found, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	assert.Equal(t, jobgc.Finished, found.State)
}

// TestStep_NoInformerLeavesACancelledRunAlone once its Job is suspended.
func TestStep_NoInformerLeavesACancelledRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		g, err := jobgc.NewUncached(s.client, jobgc.Options{})
		require.NoError(t, err)
		s.guard = g
		s.step(t)
		s.edit = func(r *jobgc.Request) { r.Cancel = true }
		s.step(t)
		s.change(jobOfRun, func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuspended, time.Now())}
		})
		looks := 0
		for found := s.step(t); found.After > 0 && looks < 100; found = s.step(t) {
			looks++
			time.Sleep(found.After)
		}
		assert.Less(t, looks, 100)
	})
}
