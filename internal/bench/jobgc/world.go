// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/jobgctest"
)

const namespace = "ci"

// world is a controller's view of a server: a real informer of client-go, and
// its users.
type world struct {
	kube    *fake.Clientset
	watched *cachetesting.FakeControllerSource // what the watch has seen
	lister  batchlisters.JobNamespaceLister
	guard   *jobgc.Guard
	store   cache.Store
	stop    func()
}

// newWorld starts an informer and returns when it watches.
func newWorld(ctx context.Context) (*world, error) {
	kube := fake.NewClientset()
	jobgctest.GiveUIDs(kube)
	watched := cachetesting.NewFakeControllerSource()
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	informer := cache.NewSharedIndexInformer(listWatch{watched}, &batchv1.Job{}, 0, indexers)
	guard, err := jobgc.New(kube.BatchV1().Jobs, cachedBy(informer.GetIndexer()), jobgc.Options{})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		cancel()
		return nil, errors.New("the informer did not start")
	}
	stop := func() {
		cancel()
		<-done
		pass(lag + time.Millisecond) // nothing may be sent afterwards
		watched.Shutdown()
	}
	return &world{
		kube: kube, watched: watched, guard: guard, store: informer.GetStore(), stop: stop,
		lister: batchlisters.NewJobLister(informer.GetIndexer()).Jobs(namespace),
	}, nil
}

// cachedBy reads Jobs from a store.
//
//nolint:ireturn // as FromLister
func cachedBy(store cache.Indexer) jobgc.Cached {
	return jobgc.FromLister(batchlisters.NewJobLister(store))
}

// look is the call for a run that waits for its Job.
func look(ctx context.Context, guard *jobgc.Guard, ref jobgc.Ref) (jobgc.Observation, error) {
	owner := &metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, UID: "owner"}
	_, f, err := guard.Step(ctx, jobgc.Request{
		Owner: owner, Ref: &ref,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
			return owner, &ref, false, nil
		},
		Job: func() (*batchv1.Job, error) { return nil, errors.New("the Job exists") },
	})
	return f, err
}

// listWatch says that the server knows no streaming lists.
type listWatch struct {
	*cachetesting.FakeControllerSource
}

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (listWatch) IsWatchListSemanticsUnSupported() bool { return true }

// job is the i-th one, of a run that controls it, as Step creates it.
func job(i int) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "run-" + strconv.Itoa(i),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "bench.example.com/v1", Kind: "Run", Name: "run-" + strconv.Itoa(i), UID: "owner",
			Controller: new(true),
		}},
	}}
}

// create creates the i-th Job, which the watch shows later. It returns what the
// owner of the Job records of it.
func (w *world) create(ctx context.Context, i int) (jobgc.Ref, error) {
	one := job(i)
	one.CreationTimestamp = metav1.Now() // the fake sets none
	made, err := w.kube.BatchV1().Jobs(namespace).Create(ctx, one, metav1.CreateOptions{})
	if err != nil {
		return jobgc.Ref{}, err
	}
	time.AfterFunc(lag, func() { w.watched.Add(made.DeepCopy()) })
	return jobgc.Ref{
		Namespace: made.Namespace, Name: made.Name, UID: made.UID, CreatedAt: new(made.CreationTimestamp),
	}, nil
}

// reads counts the live reads, which correct the cache.
func (w *world) reads() (n int) {
	for _, a := range w.kube.Actions() {
		if a.GetVerb() == "get" {
			n++
		}
	}
	return n
}

// pass waits.
func pass(d time.Duration) { <-time.After(d) }
