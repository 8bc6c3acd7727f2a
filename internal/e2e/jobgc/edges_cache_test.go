// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

// An informer with a selector never brings a Job outside it, and its version
// moves on. The confirming read finds the Job.
//
//req:shows J2
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
	assert.Equal(t, "LiveRead", f.Source)
	assert.False(t, f.Lost(), "%s", f.State)
}

// versionless is a store as client-go had it before v0.36, or with the feature
// gate AtomicFIFO off.
type versionless struct{ cache.Store }

func (versionless) LastStoreSyncResourceVersion() string { return "" }

//req:shows J2
func TestEdgeWithoutAVersion(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	ref := c.ensured(t, s, "job", suspended())
	c.until(t, ref, jobgc.Suspended)
	missing := ref
	missing.Name = "never-created"
	t.Run("OfTheStore", func(t *testing.T) {
		g, err := jobgc.New(c.kube.BatchV1().Jobs, versionless{c.informer.GetStore()}, jobgc.Options{TrustCache: true})
		require.NoError(t, err)
		f, err := g.Inspect(t.Context(), missing)
		require.NoError(t, err)
		assert.Equal(t, jobgc.Missing, f.State)
		assert.Equal(t, "LiveRead", f.Source, "nothing can be said without a read")
	})
	t.Run("OfTheRef", func(t *testing.T) {
		missing.ResourceVersion = "opaque"
		f, err := c.decided(t.Context(), missing)
		require.NoError(t, err)
		assert.Equal(t, "LiveRead", f.Source)
	})
}

// The API server speaks of the Job also where its namespace has never been: of
// namespaces it speaks only to a creation.
//
//req:shows J2
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

	f, err := jobgc.Inspect(t.Context(), jobs, jobgc.Ref{Name: "job", UID: "x"})
	require.NoError(t, err)
	assert.Equal(t, jobgc.Missing, f.State)
	g, err := jobgc.New(s.kube.BatchV1().Jobs, nil, jobgc.Options{})
	require.NoError(t, err)
	require.NoError(t, release(t.Context(), g, ref, jobgc.Retention{SucceededTTL: time.Hour}))
}

// A transform strips metadata from the cache to save memory. The annotations
// and finalizers of others stay on the Job, and those of jobgc go.
func TestEdgeTransformStripsMetadata(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	factory := informers.NewSharedInformerFactoryWithOptions(s.kube, 0, informers.WithNamespace(s.namespace), informers.WithTransform(func(obj any) (any, error) {
		if job, ok := obj.(*batchv1.Job); ok {
			job.Annotations, job.Finalizers, job.ManagedFields = nil, nil, nil
		}
		return obj, nil
	}))
	guard, err := jobgc.New(s.kube.BatchV1().Jobs, factory.Batch().V1().Jobs().Informer(), jobgc.Options{
		Finalizer: finalizer, Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: 24 * time.Hour},
	})
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	w := &worker{kube: s.kube, guard: guard}
	step := func() *jobgc.Ref {
		run, err := s.kube.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "run", metav1.GetOptions{})
		require.NoError(t, err)
		require.NoError(t, w.stepOnce(t.Context(), run, managed()))
		ref, _ := s.record(t, "run")
		return &ref
	}
	step()
	assert.EqualValues(t, 86400, *s.live(t, "run").Spec.TTLSecondsAfterFinished)
	s.patch(t, "run", `{"metadata":{"annotations":{"other.example.com/a":"b"},"finalizers":["other.example.com/keep","`+finalizer+`"]}}`)
	s.complete(t, "run", time.Now())
	eventually(t, "the Job is released", func() bool { return step().Released })
	job := s.live(t, "run")
	assert.Equal(t, "b", job.Annotations["other.example.com/a"])
	assert.Equal(t, []string{"other.example.com/keep"}, job.Finalizers)
	assert.InDelta(t, 3600, *job.Spec.TTLSecondsAfterFinished, 60)
	s.patch(t, "run", `{"metadata":{"finalizers":null}}`)
}
