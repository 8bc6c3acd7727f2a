// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// finalizer is the hold of the tests.
const finalizer = "e2e.controllerkit.dev/result"

// stage is a namespace with a run, and a Guard on an informer. The tests' own
// requests come from another client.
type stage struct {
	*play.Stage

	jobs  typedbatchv1.JobInterface
	owner *corev1.ConfigMap // the run; its kind does not matter
	guard *jobgc.Guard
}

// newStage creates a stage like suite.Example.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: plane.NewStage(t)}
	s.jobs = s.Kube.BatchV1().Jobs(s.Namespace)
	var err error
	s.owner, err = s.Kube.CoreV1().ConfigMaps(s.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "run"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	kube, err := kubernetes.NewForConfig(plane.Config())
	require.NoError(t, err)
	informer := batchinformers.NewJobInformer(kube, s.Namespace, 0, cache.Indexers{})
	cached := jobgc.FromLister(batchlisters.NewJobLister(informer.GetIndexer()))
	s.guard, err = jobgc.New(kube.BatchV1().Jobs, cached, jobgc.Options{Finalizer: finalizer})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return s
}

// job returns a Job of the run, whose pod runs until it is deleted.
func (s *stage) job(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kubelet.OutcomeAnnotation: kubelet.Never}},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "agent", Image: "busybox:1.37"}},
				},
			},
		},
	}
}

// step is one of the owner, which is stored as the request says.
func (s *stage) step(t *testing.T, r jobgc.Request) (jobgc.Ref, jobgc.Observation) {
	t.Helper()
	owner := &metav1.ObjectMeta{
		Namespace: s.Namespace, Name: s.owner.Name, UID: s.owner.UID, DeletionTimestamp: s.owner.DeletionTimestamp,
	}
	r.Owner = owner
	r.Stored = func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return owner, r.Ref, r.Done, nil }
	if r.Job == nil {
		r.Job = func() (*batchv1.Job, error) { return nil, errors.New("this run has its Job") }
	}
	next, f, err := s.guard.Step(t.Context(), r)
	require.NoError(t, err)
	return *next, f
}

// ensure is the step of an owner that has no Job yet.
func (s *stage) ensure(t *testing.T, job *batchv1.Job) jobgc.Ref {
	t.Helper()
	intent := &jobgc.Ref{Namespace: job.Namespace, Name: job.Name}
	ref, _ := s.step(t, jobgc.Request{Ref: intent, Name: job.Name, Job: func() (*batchv1.Job, error) { return job, nil }})
	return ref
}

// live reads a Job from the server.
func (s *stage) live(t *testing.T, name string) *batchv1.Job {
	t.Helper()
	job, err := s.jobs.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return job
}

// gone waits until no Job of that name exists.
func (s *stage) gone(t *testing.T, name string) {
	t.Helper()
	suite.Eventually(t, name+" is gone", func(ctx context.Context) bool {
		_, err := s.jobs.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
