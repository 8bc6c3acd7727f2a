// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/hold"
)

// TestHoldReleasesOrphans: a sweeper releases the held Job of an owner that is
// deleted, also where the garbage collector waits for the Job. Before the
// controller is removed it releases all.
//
//req:shows J4
func TestHoldReleasesOrphans(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	objects, err := metadata.NewForConfig(plane.Config())
	require.NoError(t, err)
	sweeper, err := hold.New(
		objects.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace,
		objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace,
		finalizer, hold.Options{Namespace: s.Namespace},
	)
	require.NoError(t, err)
	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	c.ensured(t, "runs", never())
	c.ensured(t, "stays", suspended())
	assert.Contains(t, s.live(t, "runs").Finalizers, finalizer)
	foreground := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	require.NoError(t, s.Kube.CoreV1().ConfigMaps(s.Namespace).Delete(t.Context(), s.run.Name, foreground))
	suite.Eventually(t, "the Job waits to be released", func(context.Context) bool {
		return s.live(t, "runs").DeletionTimestamp != nil
	})
	require.NoError(t, sweeper.ReleaseOrphan(t.Context(), s.live(t, "runs")))
	s.gone(t, "runs")

	report, err := sweeper.ReleaseAll(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, report.Released)
	s.terminate(t)
	s.gone(t, "stays")
	s.terminated(t)
}
