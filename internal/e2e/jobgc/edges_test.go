// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/jobgc"
)

// The edge cases of Kubernetes, and what jobgc makes of them.

func TestEdgeTemplateWithTTLZero(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	c.ensured(t, s, "job", ttl(0))
	assert.Nil(t, s.live(t, "job").Spec.TTLSecondsAfterFinished, "a TTL of 0 is never passed through")
	s.finished(t, "job")
	s.stays(t, "job")
}

func TestEdgeSuspended(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	ref := c.ensured(t, s, "job", never())
	var first time.Time
	eventually(t, "it has started", func() bool {
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
	wait(t.Context(), time.Until(first.Add(1100*time.Millisecond))) // times have whole seconds
	s.patch(t, "job", `{"spec":{"suspend":false}}`)
	eventually(t, "it has started again, at a later time: keep the first", func() bool { return c.look(t, ref).StartedAt.After(first) })
}

// FailureTarget and SuccessCriteriaMet announce an outcome; the Job ends when
// its last pod has.
func TestEdgeFinishing(t *testing.T) {
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
			c := s.controller(t, 0, jobgc.Options{})
			var states []jobgc.Observation
			seen := make(chan jobgc.Observation, 100)
			_, err := c.informer.AddEventHandler(onJob(func(job *batchv1.Job) { seen <- jobgc.StateOf(job) }))
			require.NoError(t, err)
			ref := c.ensured(t, s, "job", tc.edits...)
			for f := range seen {
				states = append(states, f)
				if f.State == jobgc.Finished {
					break
				}
				require.Empty(t, f.Outcome, "no outcome before the end")
			}
			f := c.until(t, ref, jobgc.Finished)
			assert.Equal(t, tc.outcome, f.Outcome)
			assert.Equal(t, tc.reason, f.Reason)
			if name == "FailureTarget" {
				assert.Equal(t, jobgc.Finishing, states[len(states)-2].State, "its pod lingered")
			}
			announced := false
			for _, s := range states {
				announced = announced || s.State == jobgc.Finishing
			}
			assert.True(t, announced, "%v", states)
		})
	}
}

// Conditions decide, and not the number of failed pods, which is 0, 1 or more.
func TestEdgeFailures(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	fails := pod(kubelet.OutcomeAnnotation, kubelet.Fail)
	cases := map[string]struct {
		edits  []edit
		reason string
	}{
		"backoff-limit": {[]edit{fails}, batchv1.JobReasonBackoffLimitExceeded},
		"deadline":      {[]edit{never(), func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(1)) }}, batchv1.JobReasonDeadlineExceeded},
		"pod-failure-policy": {[]edit{fails, func(j *batchv1.Job) {
			j.Spec.BackoffLimit = new(int32(6))
			j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action:      batchv1.PodFailurePolicyActionFailJob,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}},
			}}}
		}}, batchv1.JobReasonPodFailurePolicy},
		"max-failed-indexes": {[]edit{fails, func(j *batchv1.Job) {
			j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
			j.Spec.Completions, j.Spec.Parallelism = new(int32(3)), new(int32(3))
			j.Spec.BackoffLimit, j.Spec.BackoffLimitPerIndex, j.Spec.MaxFailedIndexes = nil, new(int32(0)), new(int32(1))
		}}, batchv1.JobReasonMaxFailedIndexesExceeded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := c.ensured(t, s, name, tc.edits...)
			f := c.until(t, ref, jobgc.Finished)
			assert.Equal(t, jobgc.Failed, f.Outcome)
			assert.Equal(t, tc.reason, f.Reason)
			assert.NotEmpty(t, f.Message)
			assert.False(t, f.FinishedAt.IsZero())
		})
	}
}

func TestEdgeManyCompletions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	ref := c.ensured(t, s, "job", pod(kubelet.DelayAnnotation, "500ms"), func(j *batchv1.Job) {
		j.Spec.Completions, j.Spec.Parallelism = new(int32(3)), new(int32(1))
	})
	eventually(t, "one pod has succeeded", func() bool {
		f := c.look(t, ref)
		if f.Job == nil || f.Job.Status.Succeeded == 0 {
			return false
		}
		assert.Equal(t, jobgc.Active, f.State, "one success is not the Job's")
		return true
	})
	assert.Equal(t, jobgc.Succeeded, c.until(t, ref, jobgc.Finished).Outcome)
}

// The Job controller leaves the Job of another manager alone; the TTL
// controller does not.
func TestEdgeManagedBy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	for name, zero := range map[string]bool{"guarded": false, "plain": true} {
		ref := c.ensured(t, s, name, managed())
		if zero {
			s.patch(t, name, `{"spec":{"ttlSecondsAfterFinished":0}}`)
		}
		s.complete(t, name, time.Now())
		if !zero {
			assert.Equal(t, jobgc.Succeeded, c.until(t, ref, jobgc.Finished).Outcome)
			assert.Empty(t, s.pods(t, name))
		}
	}
	s.gone(t, "plain")
	s.stays(t, "guarded")
}

// The clock of the client that ends the Job is an hour ahead. The TTL
// controller waits, and jobgc does not lengthen the TTL by it.
func TestEdgeClockSkew(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	ahead := time.Now().Add(time.Hour).Truncate(time.Second)
	ref := c.ensured(t, s, "job", managed())
	s.complete(t, "job", ahead)
	f := c.until(t, ref, jobgc.Finished)
	assert.True(t, f.FinishedAt.Equal(ahead), "the Job's own time")
	ref.Outcome = f.Outcome
	require.NoError(t, release(t.Context(), c, ref, jobgc.Retention{SucceededTTL: 10 * time.Minute}))
	assert.EqualValues(t, 600, *s.live(t, "job").Spec.TTLSecondsAfterFinished)
	s.patch(t, "job", `{"spec":{"ttlSecondsAfterFinished":0}}`)
	s.stays(t, "job")
}

// Nothing says who deleted a Job. A hint is all there is.
func TestEdgeDeletedByAPersonOrByItsTTL(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	byHand := c.ensured(t, s, "by-hand")
	s.finished(t, "by-hand")
	s.remove(t, "by-hand", metav1.DeletePropagationForeground)
	c.misses(t, s, "by-hand")
	f, err := c.decided(t.Context(), byHand)
	require.NoError(t, err)
	assert.Equal(t, jobgc.Finished, f.State)
	assert.Contains(t, f.Hint, "probably deleted by hand")
	byTTL := c.ensured(t, s, "by-ttl")
	s.patch(t, "by-ttl", `{"spec":{"ttlSecondsAfterFinished":0}}`)
	c.misses(t, s, "by-ttl")
	f, err = c.decided(t.Context(), byTTL)
	require.NoError(t, err)
	assert.Contains(t, f.Hint, "probably deleted by its TTL")
}

// The Job goes with its run. That is not a loss, because the run is gone too.
func TestEdgeOwnerIsCollected(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	ref := c.ensured(t, s, "job", never())
	require.NoError(t, s.kube.CoreV1().ConfigMaps(s.namespace).Delete(t.Context(), "run", metav1.DeleteOptions{}))
	s.gone(t, "job")
	ref.Outcome = jobgc.Succeeded
	c.until(t, ref, jobgc.Collected)
}

// A CronJob deletes its finished Jobs, with any TTL. Warnings reports it, and a
// hold keeps the Jobs until they are recorded.
func TestEdgeCronJobHistoryLimits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	cron, err := s.kube.BatchV1().CronJobs(s.namespace).Create(t.Context(), &batchv1.CronJob{
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
	warnings := jobgc.Retention{}.Warnings(s.job("job", owned))
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], "CronJob nightly deletes its finished Jobs")

	plain := s.controller(t, 0, jobgc.Options{})
	ref := plain.ensured(t, s, "plain", owned)
	plain.misses(t, s, "plain")
	f, err := plain.decided(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, "Tombstone", f.Source, "rescued, if the process lives")

	c := s.controller(t, 0, jobgc.Options{Finalizer: finalizer})
	ref = c.ensured(t, s, "held", owned)
	eventually(t, "the CronJob controller has deleted it", func() bool {
		job := s.live(t, "held")
		require.NotNil(t, job)
		return job.DeletionTimestamp != nil
	})
	c.until(t, ref, jobgc.Finished)
	f = c.look(t, ref)
	assert.Equal(t, "Seen", f.Source)
	ref.Outcome = f.Outcome
	require.NoError(t, release(t.Context(), c, ref, jobgc.Retention{}))
	s.gone(t, "held")
}

// The pod garbage collector takes pods, and with them their logs; the Job's
// outcome stays.
func TestEdgePodsAreCollected(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	ref := c.ensured(t, s, "job")
	s.finished(t, "job")
	require.NoError(t, s.kube.CoreV1().Pods(s.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	eventually(t, "its pod is gone", func() bool { return len(s.pods(t, "job")) == 0 })
	assert.Equal(t, jobgc.Succeeded, c.until(t, ref, jobgc.Finished).Outcome)
}
