// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgctest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes/fake"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/jobgctest"
)

// run is the owner of a Job.
type run struct {
	metav1.ObjectMeta

	ref  *jobgc.Ref
	done bool
}

func (r *run) request() jobgc.Request {
	return jobgc.Request{
		Owner: r, Ref: r.ref, Done: r.done,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return r, r.ref, r.done, nil },
		Job: func() (*batchv1.Job, error) {
			owner := *metav1.NewControllerRef(r, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}}}, nil
		},
	}
}

func newRun() *run {
	return &run{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nightly", UID: "4f1c"}}
}

// A unit test of a controller, on client-go's fake clientset.
func ExampleGiveUIDs() {
	ctx, clientset := context.Background(), fake.NewClientset()
	jobgctest.GiveUIDs(clientset)
	guard, err := jobgc.New(clientset.BatchV1().Jobs, nil, jobgc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ref, found, err := guard.Step(ctx, newRun().request())
	fmt.Println(ref.Name, ref.UID != "", found.State, err)
	// Output: run-4f1c true Active <nil>
}

// watching returns a channel that is closed when the first watch has begun. The
// fake does not replay what happens between an informer's list and its watch,
// and it records a watch before it begins.
func watching(clientset *fake.Clientset) <-chan struct{} {
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	clientset.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		events, err := clientset.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begin()
		return true, events, err
	})
	return begun
}

// A whole life on the fake clientset and an informer of it.
func TestAWholeLifeOnTheFakeClientset(t *testing.T) {
	ctx, clientset := t.Context(), fake.NewClientset()
	jobgctest.GiveUIDs(clientset)
	watched := watching(clientset)
	informer := batchinformers.NewJobInformer(clientset, metav1.NamespaceAll, 0, nil)
	cached := jobgc.CachedIn(batchlisters.NewJobLister(informer.GetIndexer()))
	guard, err := jobgc.New(clientset.BatchV1().Jobs, cached, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour}})
	require.NoError(t, err)
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // after the test's context has ended
	running.Go(func() { informer.RunWithContext(ctx) })
	<-watched

	r := newRun()
	step := func() (found jobgc.Observation) {
		var err error
		r.ref, found, err = guard.Step(ctx, r.request())
		require.NoError(t, err)
		r.done = r.done || found.Outcome != ""
		return found
	}
	step()
	jobs := clientset.BatchV1().Jobs("ns")
	job, err := jobs.Get(ctx, r.ref.Name, metav1.GetOptions{})
	require.NoError(t, err)
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	_, err = jobs.UpdateStatus(ctx, job, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Eventually(t, func() bool { return step().Outcome == jobgc.Succeeded }, time.Minute, time.Millisecond)
	// The outcome may come from a live read. The Job of a run that has ended is
	// not read live: the release waits for the informer.
	require.Eventually(t, func() bool {
		cached, ok, err := informer.GetStore().GetByKey("ns/" + r.ref.Name)
		return err == nil && ok && len(cached.(*batchv1.Job).Status.Conditions) > 0
	}, time.Minute, time.Millisecond)
	step()
	job, err = jobs.Get(ctx, r.ref.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, job.Spec.TTLSecondsAfterFinished, "released")
	assert.InDelta(t, 3600, *job.Spec.TTLSecondsAfterFinished, 60)
}
