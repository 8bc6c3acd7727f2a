// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// TestAdoption_StartsNoRunASecondTime: a controller whose Jobs have their own
// names begins to use the package while they run. Then it takes them over.
//
//req:shows J3 J4
func TestAdoption_StartsNoRunASecondTime(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, err := s.jobs.Create(t.Context(), s.job("nightly-1", managed(), ttl(600)), metav1.CreateOptions{})
	require.NoError(t, err)
	twins := s.newRun(t, "twins")
	for _, name := range []string{"twin-1", "twin-2"} {
		_, err := s.jobs.Create(t.Context(), newJob(twins, name, managed()), metav1.CreateOptions{})
		require.NoError(t, err)
	}

	const week = 7 * 24 * time.Hour
	keep := jobgc.Options{Finalizer: finalizer, Retention: jobgc.Retention{UnrecordedTTL: week, SucceededTTL: week}}
	c := s.controller(t, keep)
	step := func(owner metav1.Object, ref *jobgc.Ref, name string) (*jobgc.Ref, jobgc.Observation, error) {
		return c.Step(t.Context(), jobgc.Request{
			Owner: owner, Ref: ref, Done: ref != nil && ref.Outcome != "", Name: name,
			Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
				return owner, ref, ref != nil && ref.Outcome != "", nil
			},
			Job: func() (*batchv1.Job, error) {
				return newJob(s.run, "", func(job *batchv1.Job) {
					job.OwnerReferences[0].Name = owner.GetName()
					job.OwnerReferences[0].UID = owner.GetUID()
				}), nil
			},
		})
	}
	refused := func(owner metav1.Object, want string) {
		suite.Eventually(t, "the handler has the Jobs", func(context.Context) bool {
			_, found, err := step(owner, nil, "")
			if err != nil {
				require.ErrorContains(t, err, want)
			}
			require.Contains(t, []jobgc.State{"", jobgc.Pending}, found.State)
			return err != nil
		})
	}
	refused(s.run, "controls the Job "+s.Namespace+"/nightly-1 that Step has not created: set Request.Name")
	refused(twins, "controls 2 Jobs ("+s.Namespace+"/twin-1, "+s.Namespace+"/twin-2) that Step has not created")
	jobs, err := s.jobs.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, jobs.Items, 3, "no run was started a second time")

	_, _, err = step(s.run, nil, "twin-1")
	require.ErrorContains(t, err, "Request.Name: the name "+s.Namespace+"/twin-1 belongs to the Job of ConfigMap twins")
	for owner, name := range map[metav1.Object]string{s.run: "nightly-1", twins: "twin-2"} {
		before := s.live(t, name)
		ref, found, err := step(owner, nil, name)
		require.NoError(t, err)
		assert.Equal(t, jobgc.Active, found.State)
		assert.Equal(t, before.UID, ref.UID)
		assert.Equal(t, []string{finalizer}, s.live(t, name).Finalizers)
		s.complete(t, name, time.Now())
		suite.Eventually(t, "the outcome of "+name, func(context.Context) bool {
			ref, found, err = step(owner, ref, "")
			require.NoError(t, err)
			return ref.Outcome == jobgc.Succeeded
		})
		suite.Eventually(t, "the release of "+name, func(context.Context) bool {
			ref, found, err = step(owner, ref, "")
			require.NoError(t, err)
			return len(s.live(t, name).Finalizers) == 0
		})
	}
	assert.InDelta(t, 600, *s.live(t, "nightly-1").Spec.TTLSecondsAfterFinished, 60, "the TTL that the Job had, counted from the release")
	jobs, err = s.jobs.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, jobs.Items, 3)
}
