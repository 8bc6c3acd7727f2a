// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// The edge cases of Kubernetes, and how jobgc handles them.

// Only Complete and Failed end a Job. FailureTarget and SuccessCriteriaMet
// announce it.
func TestEdgeNotFinishedYet(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		edits   []edit
		reason  string
		outcome jobgc.Outcome
	}{
		"FailureTarget": {
			[]edit{never(), pod(kubelet.LingerAnnotation, "3s"), func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(1)) }},
			"DeadlineExceeded", jobgc.Failed,
		},
		"SuccessCriteriaMet": {
			[]edit{pod(kubelet.LingerAnnotation, "3s"), pod(kubelet.DelayAnnotation, "1s"), func(j *batchv1.Job) {
				j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
				j.Spec.Completions, j.Spec.Parallelism = new(int32(3)), new(int32(3))
				j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
			}},
			"SuccessPolicy", jobgc.Succeeded,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c := s.controller(t, jobgc.Options{})
			var states []jobgc.State
			seen := make(chan jobgc.Observation, 100)
			see := func(job any) { seen <- jobgc.StateOf(job.(*batchv1.Job)) }
			_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, job any) { see(job) }})
			require.NoError(t, err)
			ref := c.ensured(t, "job", tc.edits...)
			for f := range seen {
				if f.State == jobgc.Finished {
					break
				}
				require.Empty(t, f.Outcome, "no outcome before the end")
				states = append(states, f.State)
			}
			f := c.until(t, ref, jobgc.Finished)
			assert.Equal(t, tc.outcome, f.Outcome)
			assert.Equal(t, tc.reason, f.Reason)
			assert.Contains(t, states, jobgc.Finishing)
			if name == "FailureTarget" {
				assert.Equal(t, jobgc.Finishing, states[len(states)-1], "its pod lingered")
			}
		})
	}
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
	owned := func(j *batchv1.Job) { // as by kubectl create job --from=cronjob/nightly
		j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	}
	s.owner = cron
	plain := s.controller(t, jobgc.Options{})
	ref := plain.ensured(t, "plain", owned)
	s.gone(t, "plain")
	suite.Eventually(t, "plain is gone from the cache", func(context.Context) bool {
		_, cached, err := plain.informer.GetStore().GetByKey(s.Namespace + "/plain")
		require.NoError(t, err)
		return !cached
	})
	var f jobgc.Observation
	suite.Eventually(t, "there is an answer", func(context.Context) bool {
		f = plain.look(t, ref)
		return f.State != jobgc.Pending
	})
	assert.Equal(t, "Tombstone", f.Source, "rescued, if the process lives")

	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	ref = c.ensured(t, "held", owned)
	suite.Eventually(t, "the cache shows that the CronJob controller has deleted it", func(context.Context) bool {
		f = c.look(t, ref)
		return f.Job != nil && f.Job.DeletionTimestamp != nil
	})
	assert.Equal(t, jobgc.Finished, f.State)
	assert.Equal(t, jobgc.Succeeded, f.Outcome)
	assert.Equal(t, "Seen", f.Source)
	ref.Outcome = f.Outcome
	require.NoError(t, s.release(t.Context(), c.guard, ref, jobgc.Retention{}))
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
	ref := jobgc.Ref{Namespace: "nowhere", Name: "job", UID: "x", Outcome: jobgc.Succeeded}
	about := func(err error) (d metav1.StatusDetails) {
		status := apierrors.APIStatus(nil)
		require.ErrorAs(t, err, &status)
		return *status.Status().Details
	}
	_, err := jobs.Get(t.Context(), "job", metav1.GetOptions{})
	assert.Equal(t, metav1.StatusDetails{Group: "batch", Kind: "jobs", Name: "job"}, about(err))
	_, err = jobs.Create(t.Context(), s.job("job", func(j *batchv1.Job) { j.Namespace = "nowhere" }), metav1.CreateOptions{})
	assert.Equal(t, metav1.StatusDetails{Kind: "namespaces", Name: "nowhere"}, about(err))
	_, err = jobs.Patch(t.Context(), "job", types.JSONPatchType, []byte(`[{"op": "test", "path": "/metadata/uid", "value": "x"}]`), metav1.PatchOptions{})
	assert.Equal(t, metav1.StatusDetails{Group: "batch", Kind: "jobs", Name: "job"}, about(err))

	f, err := jobgc.Inspect(t.Context(), jobs, jobgc.Ref{Name: "job", UID: "x"})
	require.NoError(t, err)
	assert.Equal(t, jobgc.Missing, f.State)
	g, err := jobgc.NewUncached(s.Kube.BatchV1().Jobs, jobgc.Options{})
	require.NoError(t, err)
	require.NoError(t, s.release(t.Context(), g, ref, jobgc.Retention{SucceededTTL: time.Hour}))
}

// The API server adds no finalizer once a deletion has begun, so that Step sets
// the hold at the creation or never.
func TestEdgeNoFinalizerOnceADeletionHasBegun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	c.ensured(t, "job", suspended())
	s.remove(t, "job", metav1.DeletePropagationBackground)
	_, err := s.jobs.Patch(t.Context(), "job", types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/late"}]`), metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err) || apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, "no new finalizers can be added")
	ref, err := s.ensure(t.Context(), c.guard, s.job("job"))
	require.NoError(t, err, "a Job with the finalizer is adopted: no other controller would release it")
	c.until(t, ref, jobgc.Deleting)
	require.NoError(t, s.release(t.Context(), c.guard, ref, jobgc.Retention{}))
	s.gone(t, "job")
}

// A release that finds another Job under the name succeeds. Any other refusal
// does not.
func TestEdgeReleaseIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, jobgc.Options{})
	recorded := func(t *testing.T, name string) jobgc.Ref {
		t.Helper()
		ref := c.ensured(t, name)
		ref.Outcome = c.until(t, ref, jobgc.Finished).Outcome
		return ref
	}
	t.Run("GoneAndTheNameTakenAgain", func(t *testing.T) {
		ref := recorded(t, "taken")
		s.remove(t, "taken", metav1.DeletePropagationBackground)
		s.gone(t, "taken")
		successor, err := s.jobs.Create(t.Context(), s.job("taken", suspended(), func(j *batchv1.Job) { j.Annotations = map[string]string{"a": "b"} }), metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, s.release(t.Context(), c.guard, ref, jobgc.Retention{SucceededTTL: time.Second}))
		now := s.live(t, "taken")
		assert.Equal(t, successor.UID, now.UID)
		assert.Nil(t, now.Spec.TTLSecondsAfterFinished, "the test of the uid protects it")
	})
	t.Run("RefusedForAnotherReason", func(t *testing.T) {
		ref := recorded(t, "refused")
		size := 0
		for key, value := range s.live(t, "refused").Annotations {
			size += len(key) + len(value)
		}
		s.patch(t, "refused", `{"metadata":{"annotations":{"a":"`+strings.Repeat("b", 256<<10-size-1)+`"}}}`) // as much as fits
		err := s.release(t.Context(), c.guard, ref, jobgc.Retention{SucceededTTL: time.Hour})
		require.True(t, apierrors.IsInvalid(err), "not every 422 is a success: %v", err)
		assert.ErrorContains(t, err, "metadata.annotations: Too long")
	})
}
