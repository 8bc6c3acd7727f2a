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
			ref := s.ensure(t, s.job("runs"))
			assert.Contains(t, s.live(t, "runs").Finalizers, finalizer)
			owners := s.Kube.CoreV1().ConfigMaps(s.Namespace)
			stored := func(ctx context.Context, _ string, ref metav1.OwnerReference) (metav1.Object, error) {
				return owners.Get(ctx, ref.Name, metav1.GetOptions{})
			}
			sweep := func(ctx context.Context) {
				ctx, stop := context.WithTimeout(ctx, time.Second) // the second sweep is a minute later
				defer stop()
				assert.NoError(t, s.guard.SweepOrphans(ctx, stored, stored))
			}
			sweep(t.Context())
			assert.Contains(t, s.live(t, "runs").Finalizers, finalizer, "its owner exists")

			require.NoError(t, owners.Delete(t.Context(), s.owner.Name, metav1.DeleteOptions{PropagationPolicy: &policy}))
			suite.Eventually(t, "the Job waits to be released", func(ctx context.Context) bool {
				if policy == metav1.DeletePropagationBackground {
					sweep(ctx)
					_, err := s.jobs.Get(ctx, "runs", metav1.GetOptions{})
					return apierrors.IsNotFound(err)
				}
				owner, err := owners.Get(ctx, s.owner.Name, metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return true
				}
				require.NoError(t, err)
				s.owner = owner
				s.step(t, jobgc.Request{Ref: &ref})
				return false
			})
			s.gone(t, "runs")
			namespaces := s.Kube.CoreV1().Namespaces()
			require.NoError(t, namespaces.Delete(t.Context(), s.Namespace, metav1.DeleteOptions{}))
			suite.Eventually(t, "the namespace is gone", func(ctx context.Context) bool {
				_, err := namespaces.Get(ctx, s.Namespace, metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			})
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
	job := s.job("nightly")
	job.Spec.TTLSecondsAfterFinished = new(int32(1))
	created, err := s.jobs.Create(t.Context(), job, metav1.CreateOptions{})
	require.NoError(t, err)
	bare := []byte(`{"metadata":{"annotations":null,"finalizers":null}}`)
	_, err = s.jobs.Patch(t.Context(), "nightly", types.MergePatchType, bare, metav1.PatchOptions{})
	require.NoError(t, err)
	ref := s.ensure(t, s.job("nightly"))
	assert.Equal(t, created.UID, ref.UID)
	now := s.live(t, "nightly")
	assert.Nil(t, now.Spec.TTLSecondsAfterFinished)
	assert.Equal(t, "1", now.Annotations["jobgc.controllerkit.dev/ttl-seconds-after-finished"])
	assert.Equal(t, []string{finalizer}, now.Finalizers)
}
