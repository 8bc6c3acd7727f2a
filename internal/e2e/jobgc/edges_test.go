// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// The API server speaks of the Job also where its namespace has never been: of
// namespaces it speaks only to a creation.
//
//req:shows J2
func TestEdge404InANamespaceThatDoesNotExist(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	jobs := s.Kube.BatchV1().Jobs("nowhere")
	_, get := jobs.Get(t.Context(), "job", metav1.GetOptions{})
	elsewhere := s.job("job")
	elsewhere.Namespace = "nowhere"
	_, create := jobs.Create(t.Context(), elsewhere, metav1.CreateOptions{})
	_, patch := jobs.Patch(t.Context(), "job", types.JSONPatchType, []byte(`[{"op": "test", "path": "/metadata/uid", "value": "x"}]`), metav1.PatchOptions{})
	for err, says := range map[error]metav1.StatusDetails{
		get:    {Group: "batch", Kind: "jobs", Name: "job"},
		create: {Kind: "namespaces", Name: "nowhere"},
		patch:  {Group: "batch", Kind: "jobs", Name: "job"},
	} {
		status := apierrors.APIStatus(nil)
		require.ErrorAs(t, err, &status)
		assert.Equal(t, says, *status.Status().Details)
	}
	f, err := jobgc.Inspect(t.Context(), jobs, jobgc.Ref{Name: "job", UID: "x"})
	require.NoError(t, err)
	assert.Equal(t, jobgc.Missing, f.State)
}

// The API server adds no finalizer once a deletion has begun, so that Step sets
// the hold at the creation or never.
func TestEdgeNoFinalizerOnceADeletionHasBegun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	job := s.job("job")
	job.Spec.Suspend = new(true)
	s.ensure(t, job)
	background := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	require.NoError(t, s.jobs.Delete(t.Context(), "job", background))
	_, err := s.jobs.Patch(t.Context(), "job", types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/late"}]`), metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err) || apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, "no new finalizers can be added")
	ref := s.ensure(t, s.job("job")) // no other controller would release it
	suite.Eventually(t, "the cache shows the deletion", func(context.Context) bool {
		_, f := s.step(t, jobgc.Request{Ref: &ref})
		return f.State == jobgc.Deleting
	})
	s.step(t, jobgc.Request{Ref: &ref, Done: true})
	s.gone(t, "job")
}
