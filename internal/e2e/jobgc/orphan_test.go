// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// TestHeldJobs_GoWithTheirOwner: an owner that is deleted in the background
// is gone immediately, and the sweep releases its Job. One that is deleted in
// the foreground waits for its Job, and Step releases it.
//
//req:shows J4
func TestHeldJobs_GoWithTheirOwner(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]metav1.DeletionPropagation{
		"Background": metav1.DeletePropagationBackground,
		"Foreground": metav1.DeletePropagationForeground,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c := s.controller(t, jobgc.Options{Finalizer: finalizer})
			ref := c.ensured(t, "runs", never())
			assert.Contains(t, s.live(t, "runs").Finalizers, finalizer)
			owners := s.Kube.CoreV1().ConfigMaps(s.Namespace)
			stored := func(ctx context.Context, _ string, ref metav1.OwnerReference) (metav1.Object, error) {
				return owners.Get(ctx, ref.Name, metav1.GetOptions{})
			}
			sweep := func(ctx context.Context) {
				ctx, stop := context.WithTimeout(ctx, time.Second) // the second sweep is a minute later
				defer stop()
				assert.NoError(t, c.SweepOrphans(ctx, stored, stored))
			}
			sweep(t.Context())
			assert.Contains(t, s.live(t, "runs").Finalizers, finalizer, "its owner exists")

			require.NoError(t, owners.Delete(t.Context(), s.run.Name, metav1.DeleteOptions{PropagationPolicy: &policy}))
			suite.Eventually(t, "the Job waits to be released", func(ctx context.Context) bool {
				if policy == metav1.DeletePropagationBackground {
					sweep(ctx)
					_, err := s.jobs.Get(ctx, "runs", metav1.GetOptions{})
					return apierrors.IsNotFound(err)
				}
				owner, err := owners.Get(ctx, s.run.Name, metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return true
				}
				require.NoError(t, err)
				s.owner = owner
				_, _, err = c.step(ctx, c.guard, jobgc.Request{Ref: &ref})
				require.NoError(t, err)
				return false
			})
			s.gone(t, "runs")
			s.terminate(t)
			s.terminated(t)
		})
	}
}

// TestTakeOver_OnTheAPIServer: the patch that takes a TTL off and puts the
// finalizer on is one that the API server accepts, also where the Job has
// neither annotations nor finalizers.
//
//req:shows J4
func TestTakeOver_OnTheAPIServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	job := s.job("nightly", never())
	job.Spec.TTLSecondsAfterFinished = new(int32(1))
	created, err := s.jobs.Create(t.Context(), job, metav1.CreateOptions{})
	require.NoError(t, err)
	s.patch(t, "nightly", `{"metadata":{"annotations":null,"finalizers":null}}`)
	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	ref := c.ensured(t, "nightly")
	assert.Equal(t, created.UID, ref.UID)
	now := s.live(t, "nightly")
	assert.Nil(t, now.Spec.TTLSecondsAfterFinished)
	assert.Equal(t, "1", now.Annotations["jobgc.controllerkit.dev/ttl-seconds-after-finished"])
	assert.Equal(t, []string{finalizer}, now.Finalizers)
	assert.NotEqual(t, types.UID(""), ref.UID)
}
