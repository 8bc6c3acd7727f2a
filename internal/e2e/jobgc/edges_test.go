// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/jobgc"
)

// The edge cases: what Kubernetes does, and what follows.

func TestEdgeTemplateWithTTLZero(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	c.ensured(t, s, "job", ttl(0))
	assert.EqualValues(t, 604800, *s.live(t, "job").Spec.TTLSecondsAfterFinished, "a TTL of 0 is never passed through")
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
	// Since v1.36 its start is cleared (MutableSchedulingDirectivesForSuspendedJobs); before, it stays until the Job goes on.
	if f = c.look(t, ref); !f.StartedAt.IsZero() {
		assert.True(t, f.StartedAt.Equal(first), "%v, not %v", f.StartedAt, first)
	}
	wait(t.Context(), time.Until(first.Add(1100*time.Millisecond))) // times have whole seconds
	s.patch(t, "job", `{"spec":{"suspend":false}}`)
	eventually(t, "it has started again, with a start of its own: keep the first", func() bool { return c.look(t, ref).StartedAt.After(first) })
}

// FailureTarget and SuccessCriteriaMet announce an outcome; the Job ends when its last pod has.
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
			var states []jobgc.Finding
			seen := make(chan jobgc.Finding, 100)
			_, err := c.informer.AddEventHandler(onJob(func(job *batchv1.Job) { seen <- jobgc.Judge(job) }))
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

// The Job controller leaves the Job of another manager alone; the TTL controller does not.
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

// The clock of whoever ends the Job is an hour ahead. The TTL controller waits; what was promised is not lengthened by it.
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
	require.NoError(t, c.Release(t.Context(), ref, f, jobgc.Retention{Succeeded: new(10 * time.Minute)}))
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

// The Job goes with its run, and that is no loss: the run that would be told of it is gone.
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

// A CronJob deletes its finished Jobs whatever their TTL. Exposure says so, and a hold keeps them until they are recorded.
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
	warnings := jobgc.Retention{}.Exposure(s.job("job", owned))
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], "CronJob nightly deletes its finished Jobs")

	plain := s.controller(t, 0, jobgc.Options{})
	ref := plain.ensured(t, s, "plain", owned)
	plain.misses(t, s, "plain")
	f, err := plain.decided(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, jobgc.ByTombstone, f.Proof, "rescued, if the process lives")

	c := s.controller(t, 0, jobgc.Options{Hold: finalizer})
	ref = c.ensured(t, s, "held", owned)
	eventually(t, "the CronJob controller has deleted it", func() bool {
		job := s.live(t, "held")
		require.NotNil(t, job)
		return job.DeletionTimestamp != nil
	})
	c.until(t, ref, jobgc.Finished)
	f = c.look(t, ref)
	assert.Equal(t, jobgc.BySight, f.Proof)
	ref.Outcome = f.Outcome
	require.NoError(t, c.Release(t.Context(), ref, f, jobgc.Retention{}))
	s.gone(t, "held")
}

// The pod garbage collector takes pods, and with them their logs; the Job's outcome stays.
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

// To an informer with a selector a Job outside it is absent for ever, and its version passes. The confirming read tells.
func TestEdgeFilteredInformer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c, stop := s.stoppable(t, 0, jobgc.Options{}, func(o *metav1.ListOptions) { o.LabelSelector = "e2e=other" })
	defer stop()
	ref := c.ensured(t, s, "job", suspended())
	_, err := s.jobs.Create(t.Context(), s.job("other", suspended(), func(j *batchv1.Job) { j.Labels["e2e"] = "other" }), metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "the cache is past the creation", func() bool { return len(c.informer.GetStore().ListKeys()) == 1 })
	f, err := c.decided(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, jobgc.ByLiveRead, f.Proof)
	assert.False(t, f.Lost(), "%s", f.State)
}

// versionless is a store as client-go had it before v0.36, or with the feature gate AtomicFIFO off.
type versionless struct{ cache.Store }

func (versionless) LastStoreSyncResourceVersion() string { return "" }

func TestEdgeWithoutAVersion(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	ref := c.ensured(t, s, "job", suspended())
	c.until(t, ref, jobgc.Suspended)
	missing := ref
	missing.Name = "never-created"
	t.Run("OfTheStore", func(t *testing.T) {
		g, err := jobgc.New(c.kube.BatchV1().Jobs, versionless{c.informer.GetStore()}, jobgc.Options{Trust: true})
		require.NoError(t, err)
		f, err := g.Look(t.Context(), missing)
		require.NoError(t, err)
		assert.Equal(t, jobgc.Missing, f.State)
		assert.Equal(t, jobgc.ByLiveRead, f.Proof, "nothing can be said without a read")
	})
	t.Run("OfTheRef", func(t *testing.T) {
		missing.ResourceVersion = "opaque"
		f, err := c.decided(t.Context(), missing)
		require.NoError(t, err)
		assert.Equal(t, jobgc.ByLiveRead, f.Proof)
	})
}

// A Ref of another namespace must not be answered from this one.
func TestEdgeRefOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	s, other := newStage(t), newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	job, err := other.jobs.Create(t.Context(), other.job("job", suspended()), metav1.CreateOptions{})
	require.NoError(t, err)
	c.ensured(t, s, "job", suspended())
	f := c.look(t, jobgc.Ref{Namespace: other.namespace, Name: "job", UID: job.UID})
	assert.Equal(t, jobgc.ByLiveRead, f.Proof, "this cache has only its own namespace")
	assert.False(t, f.Lost())
	_, err = jobgc.Look(t.Context(), s.jobs, jobgc.Ref{Namespace: other.namespace, Name: "job", UID: job.UID})
	require.ErrorContains(t, err, other.namespace)
	_, err = c.Ensure(t.Context(), jobgc.Ref{Namespace: other.namespace, Name: "job"}, s.job("job"))
	require.ErrorContains(t, err, "want ref.namespace")
}

// The API server speaks of the Job also where its namespace has never been: of namespaces it speaks only to a creation.
func TestEdge404InANamespaceThatDoesNotExist(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	jobs := s.kube.BatchV1().Jobs("nowhere")
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

	f, err := jobgc.Look(t.Context(), jobs, jobgc.Ref{Name: "job", UID: "x"})
	require.NoError(t, err)
	assert.Equal(t, jobgc.Missing, f.State)
	g, err := jobgc.New(s.kube.BatchV1().Jobs, nil, jobgc.Options{})
	require.NoError(t, err)
	job := newJob(s.run, "job")
	job.UID, job.Status.Conditions = "x", []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	require.NoError(t, g.Release(t.Context(), ref, jobgc.Judge(job), jobgc.Retention{Succeeded: new(time.Hour)}))
}

// A store of other objects is an error, not a missing Job.
func TestEdgeStoreOfPods(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	pods := cache.NewStore(cache.MetaNamespaceKeyFunc)
	require.NoError(t, pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "job"}}))
	g, err := jobgc.New(s.kube.BatchV1().Jobs, pods, jobgc.Options{})
	require.NoError(t, err)
	_, err = g.Look(t.Context(), jobgc.Ref{Namespace: s.namespace, Name: "job", UID: "x"})
	require.ErrorContains(t, err, "the store holds *v1.Pod, want *v1.Job of batch")
}
