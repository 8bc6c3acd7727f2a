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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// The edge cases of Kubernetes, and how jobgc handles them.

// Only Complete and Failed end a Job. FailureTarget announces it.
func TestEdgeNotFinishedYet(t *testing.T) {
	t.Parallel()
	c := newStage(t).controller(t, jobgc.Options{})
	ref := c.ensured(t, "job", never(), pod(kubelet.LingerAnnotation, "3s"), func(j *batchv1.Job) {
		j.Spec.ActiveDeadlineSeconds = new(int64(1))
	})
	f := c.until(t, ref, jobgc.Finishing)
	assert.Empty(t, f.Outcome, "no outcome before the end")
	f = c.until(t, ref, jobgc.Finished)
	assert.Equal(t, jobgc.Failed, f.Outcome)
	assert.Equal(t, "DeadlineExceeded", f.Reason)
}

// A CronJob deletes its finished Jobs, with any TTL. A hold keeps the Jobs
// until they are recorded.
func TestEdgeCronJobHistoryLimits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	cron, err := s.Kube.BatchV1().CronJobs(s.Namespace).Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "nightly"},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 0 29 2 *", SuccessfulJobsHistoryLimit: new(int32(0)), FailedJobsHistoryLimit: new(int32(0)),
			JobTemplate: batchv1.JobTemplateSpec{Spec: s.job("template").Spec},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.owner = cron
	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	ref := c.ensured(t, "held", func(j *batchv1.Job) { // as by kubectl create job --from=cronjob/nightly
		j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	})
	var f jobgc.Observation
	suite.Eventually(t, "the cache shows that the CronJob controller has deleted it", func(context.Context) bool {
		f = c.look(t, ref)
		return f.Job != nil && f.Job.DeletionTimestamp != nil
	})
	assert.Equal(t, jobgc.Finished, f.State)
	assert.Equal(t, jobgc.Succeeded, f.Outcome)
	ref.Outcome = f.Outcome
	require.NoError(t, s.release(t.Context(), c.guard, ref))
	s.gone(t, "held")
}

// The API server speaks of the Job also where its namespace has never been: of
// namespaces it speaks only to a creation.
//
//req:shows J2
func TestEdge404InANamespaceThatDoesNotExist(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	jobs := s.Kube.BatchV1().Jobs("nowhere")
	_, get := jobs.Get(t.Context(), "job", metav1.GetOptions{})
	_, create := jobs.Create(t.Context(), s.job("job", func(j *batchv1.Job) { j.Namespace = "nowhere" }), metav1.CreateOptions{})
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
	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	c.ensured(t, "job", suspended())
	s.remove(t, "job")
	_, err := s.jobs.Patch(t.Context(), "job", types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/late"}]`), metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err) || apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, "no new finalizers can be added")
	ref, err := s.ensure(t.Context(), c.guard, s.job("job"))
	require.NoError(t, err, "a Job with the finalizer is adopted: no other controller would release it")
	c.until(t, ref, jobgc.Deleting)
	require.NoError(t, s.release(t.Context(), c.guard, ref))
	s.gone(t, "job")
}

// A release that finds another Job under the name changes nothing.
func TestEdgeReleaseFindsASuccessor(t *testing.T) {
	t.Parallel()
	c := newStage(t).controller(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Second}})
	ref := c.ensured(t, "job")
	ref.Outcome = c.until(t, ref, jobgc.Finished).Outcome
	c.remove(t, "job")
	c.gone(t, "job")
	successor, err := c.jobs.Create(t.Context(), c.job("job", suspended()), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, c.release(t.Context(), c.guard, ref))
	now := c.live(t, "job")
	assert.Equal(t, successor.UID, now.UID)
	assert.Nil(t, now.Spec.TTLSecondsAfterFinished, "the test of the uid protects it")
}
