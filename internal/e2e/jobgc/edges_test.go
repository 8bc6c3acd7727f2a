// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"slices"
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

func TestEdgeSuspended(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, jobgc.Options{})
	ref := c.ensured(t, s, "job", never())
	var first time.Time
	suite.Eventually(t, "it has started", func(context.Context) bool {
		first = c.look(t, ref).StartedAt
		return !first.IsZero() && s.live(t, "job").Status.Active == 1
	})
	s.patch(t, "job", `{"spec":{"suspend":true,"ttlSecondsAfterFinished":0}}`)
	f := c.until(t, ref, jobgc.Suspended)
	assert.False(t, f.Lost())
	s.stays(t, "job")
	// Since v1.36 its start is cleared
	// (MutableSchedulingDirectivesForSuspendedJobs); before, it stays until the
	// Job goes on.
	if f = c.look(t, ref); !f.StartedAt.IsZero() {
		assert.True(t, f.StartedAt.Equal(first), "%v, not %v", f.StartedAt, first)
	}
	suite.Wait(t.Context(), time.Until(first.Add(1100*time.Millisecond))) // times have whole seconds
	s.patch(t, "job", `{"spec":{"suspend":false}}`)
	suite.Eventually(t, "it has started again, at a later time: keep the first", func(context.Context) bool { return c.look(t, ref).StartedAt.After(first) })
}

// Only Complete and Failed end a Job. FailureTarget and SuccessCriteriaMet
// announce it, and the number of its pods that have succeeded says nothing.
func TestEdgeNotFinishedYet(t *testing.T) {
	t.Parallel()
	finishing := func(f jobgc.Observation) bool { return f.State == jobgc.Finishing }
	cases := map[string]struct {
		edits   []edit
		before  func(jobgc.Observation) bool // is seen before the end
		reason  string
		outcome jobgc.Outcome
	}{
		"FailureTarget": {
			[]edit{never(), pod(kubelet.LingerAnnotation, "3s"), func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(1)) }},
			finishing, "DeadlineExceeded", jobgc.Failed,
		},
		"SuccessCriteriaMet": {
			[]edit{pod(kubelet.LingerAnnotation, "3s"), pod(kubelet.DelayAnnotation, "1s"), func(j *batchv1.Job) {
				j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
				j.Spec.Completions, j.Spec.Parallelism = new(int32(3)), new(int32(3))
				j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
			}},
			finishing, "SuccessPolicy", jobgc.Succeeded,
		},
		"OneOfThreeCompletions": {
			[]edit{pod(kubelet.DelayAnnotation, "500ms"), func(j *batchv1.Job) {
				j.Spec.Completions, j.Spec.Parallelism = new(int32(3)), new(int32(1))
			}},
			func(f jobgc.Observation) bool { return f.State == jobgc.Active && f.Job.Status.Succeeded > 0 },
			"CompletionsReached", jobgc.Succeeded,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c := s.controller(t, jobgc.Options{})
			var states []jobgc.Observation
			seen := make(chan jobgc.Observation, 100)
			see := func(job any) { seen <- jobgc.StateOf(job.(*batchv1.Job)) }
			_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, job any) { see(job) }})
			require.NoError(t, err)
			ref := c.ensured(t, s, "job", tc.edits...)
			for f := range seen {
				if f.State == jobgc.Finished {
					break
				}
				require.Empty(t, f.Outcome, "no outcome before the end")
				states = append(states, f)
			}
			f := c.until(t, ref, jobgc.Finished)
			assert.Equal(t, tc.outcome, f.Outcome)
			assert.Equal(t, tc.reason, f.Reason)
			assert.True(t, slices.ContainsFunc(states, tc.before), "%v", states)
			if name == "FailureTarget" {
				assert.Equal(t, jobgc.Finishing, states[len(states)-1].State, "its pod lingered")
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
	plain := s.controller(t, jobgc.Options{})
	ref := plain.ensured(t, s, "plain", owned)
	plain.misses(t, s, "plain")
	f, err := plain.decided(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, "Tombstone", f.Source, "rescued, if the process lives")

	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	ref = c.ensured(t, s, "held", owned)
	suite.Eventually(t, "the cache shows that the CronJob controller has deleted it", func(context.Context) bool {
		f = c.look(t, ref)
		return f.Job != nil && f.Job.DeletionTimestamp != nil
	})
	assert.Equal(t, jobgc.Finished, f.State)
	assert.Equal(t, jobgc.Succeeded, f.Outcome)
	assert.Equal(t, "Seen", f.Source)
	ref.Outcome = f.Outcome
	require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{}))
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
	_, err = jobs.Create(t.Context(), newJob(s.run, "job", func(j *batchv1.Job) { j.Namespace = "nowhere" }), metav1.CreateOptions{})
	assert.Equal(t, metav1.StatusDetails{Kind: "namespaces", Name: "nowhere"}, about(err))
	_, err = jobs.Patch(t.Context(), "job", types.JSONPatchType, []byte(`[{"op": "test", "path": "/metadata/uid", "value": "x"}]`), metav1.PatchOptions{})
	assert.Equal(t, metav1.StatusDetails{Group: "batch", Kind: "jobs", Name: "job"}, about(err))

	f, err := jobgc.Inspect(t.Context(), jobs, jobgc.Ref{Name: "job", UID: "x"})
	require.NoError(t, err)
	assert.Equal(t, jobgc.Missing, f.State)
	g, err := jobgc.NewUncached(s.Kube.BatchV1().Jobs, jobgc.Options{})
	require.NoError(t, err)
	require.NoError(t, release(t.Context(), g, ref, jobgc.Retention{SucceededTTL: time.Hour}))
}
