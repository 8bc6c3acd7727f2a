// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// stage is a namespace with a run. Its own requests come from another client
// than the controller under test.
type stage struct {
	*play.Stage

	jobs  typedbatchv1.JobInterface
	run   *corev1.ConfigMap // its kind does not matter
	owner metav1.Object     // of the Jobs: the run, if a test has no other
}

// newStage creates a stage like suite.Example.
func newStage(t *testing.T, more ...string) *stage {
	t.Helper()
	s := &stage{Stage: plane.NewStage(t, more...)}
	s.jobs = s.Kube.BatchV1().Jobs(s.Namespace)
	var err error
	s.run, err = s.Kube.CoreV1().ConfigMaps(s.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "run"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.owner = s.run
	return s
}

// edit changes a Job before it is created.
type edit func(*batchv1.Job)

// job returns a Job of the stage's run. Its pod succeeds immediately unless an
// edit changes that.
func (s *stage) job(name string, edits ...edit) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: name, Labels: map[string]string{"e2e": "job"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.run, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kubelet.DelayAnnotation: "0s"}},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "agent", Image: "busybox:1.37"}},
				},
			},
		},
	}
	for _, e := range edits {
		e(job)
	}
	return job
}

func pod(annotation, value string) edit {
	return func(j *batchv1.Job) { j.Spec.Template.Annotations[annotation] = value }
}

func never() edit     { return pod(kubelet.OutcomeAnnotation, kubelet.Never) }
func suspended() edit { return func(j *batchv1.Job) { j.Spec.Suspend = new(true) } }

type guard = jobgc.Guard

// controller is a running one: a Guard on an informer.
type controller struct {
	*guard
	*stage

	informer cache.SharedIndexInformer
	stop     func()
}

// controller starts one for the stage's namespace, until the test ends.
func (s *stage) controller(t *testing.T, opts jobgc.Options) *controller {
	t.Helper()
	c := &controller{stage: s}
	kube, err := kubernetes.NewForConfig(plane.Config())
	require.NoError(t, err)
	c.informer = batchinformers.NewJobInformer(kube, s.Namespace, 0, cache.Indexers{})
	cached := jobgc.CachedIn(batchlisters.NewJobLister(c.informer.GetIndexer()))
	c.guard, err = jobgc.New(kube.BatchV1().Jobs, cached, opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { c.informer.RunWithContext(ctx) })
	cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced)
	c.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(c.stop)
	return c
}

// step is one of the owner, which is stored as the request says.
func (s *stage) step(ctx context.Context, g *guard, r jobgc.Request) (jobgc.Ref, jobgc.Observation, error) {
	owner := &metav1.ObjectMeta{
		Namespace: r.Ref.Namespace, Name: s.owner.GetName(), UID: s.owner.GetUID(), DeletionTimestamp: s.owner.GetDeletionTimestamp(),
	}
	r.Owner = owner
	r.Stored = func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return owner, r.Ref, r.Done, nil }
	if r.Job == nil {
		r.Job = func() (*batchv1.Job, error) { return nil, errors.New("this run has its Job") }
	}
	next, f, err := g.Step(ctx, r)
	return *next, f, err
}

// ensure is the step of an owner that has no Job yet.
func (s *stage) ensure(ctx context.Context, g *guard, job *batchv1.Job) (jobgc.Ref, error) {
	intent := &jobgc.Ref{Namespace: job.Namespace, Name: job.Name}
	ref, _, err := s.step(ctx, g, jobgc.Request{
		Ref: intent, Name: job.Name, Job: func() (*batchv1.Job, error) { return job, nil },
	})
	return ref, err
}

// release is the step of an owner that has recorded how its run ended.
func (s *stage) release(ctx context.Context, g *guard, ref jobgc.Ref) error {
	_, _, err := s.step(ctx, g, jobgc.Request{Ref: &ref, Done: true})
	return err
}

// ensured makes a Job and returns its Ref.
func (c *controller) ensured(t *testing.T, name string, edits ...edit) jobgc.Ref {
	t.Helper()
	ref, err := c.ensure(t.Context(), c.guard, c.job(name, edits...))
	require.NoError(t, err)
	return ref
}

// look is the step of an owner that has recorded ref and waits for its end.
func (c *controller) look(t *testing.T, ref jobgc.Ref) jobgc.Observation {
	t.Helper()
	_, f, err := c.step(t.Context(), c.guard, jobgc.Request{Ref: &ref})
	require.NoError(t, err)
	return f
}

// until looks until the Job is in a state.
func (c *controller) until(t *testing.T, ref jobgc.Ref, want jobgc.State) (f jobgc.Observation) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("%s is %s", ref.Name, want), func(context.Context) bool {
		f = c.look(t, ref)
		return f.State == want
	})
	return f
}

// live reads a Job from the server; nil if it does not exist.
func (s *stage) live(t *testing.T, name string) *batchv1.Job {
	t.Helper()
	job, err := s.jobs.Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return job
}

// gone waits until no Job of that name exists.
func (s *stage) gone(t *testing.T, name string) {
	t.Helper()
	suite.Eventually(t, name+" is gone", func(context.Context) bool { return s.live(t, name) == nil })
}

// remove deletes a Job, as a person does.
func (s *stage) remove(t *testing.T, name string) {
	t.Helper()
	background := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	require.NoError(t, s.jobs.Delete(t.Context(), name, background))
}

// patch merges JSON into a Job.
func (s *stage) patch(t *testing.T, name, patch string) {
	t.Helper()
	_, err := s.jobs.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}
