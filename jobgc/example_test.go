// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// Is the Job really missing? The client is any typed one, such as
// clientset.BatchV1().Jobs(ns).
func Example() {
	ctx, jobs := context.Background(), newServer().client("default") // clientset.BatchV1().Jobs("default")
	f, err := jobgc.Inspect(ctx, jobs, jobgc.Ref{Name: "run-1-job", UID: "4f1c"})
	switch {
	case err != nil: // not known: try again
		fmt.Println(err)
	case f.State == jobgc.Finished:
		fmt.Println(f.Outcome)
	case f.Lost(): // Missing, Replaced, or Deleting before it finished
		fmt.Println(f.State, f.Source, f.Message)
	case f.State == jobgc.NotCreated || f.State == jobgc.Collected:
		fmt.Println("nothing to wait for")
	default:
		fmt.Println("it is still running")
	}
	// Output: Missing LiveRead the Job is gone and its outcome was never recorded
}

// The life of a run, one step for each reconcile. What the status has is all
// that a restarted controller needs.
func ExampleGuard_Step() {
	ctx, cluster, informer := context.Background(), newServer(), &fakeStore{}
	cluster.version = 7
	keep := jobgc.Retention{SucceededTTL: 10 * time.Minute}
	guard, err := jobgc.New(cluster.client, informer, jobgc.Options{Retention: keep}) // see New
	if err != nil {
		fmt.Println(err)
		return
	}
	run := newAgentRun() // as it is stored
	reconcile := func() {
		informer.sync(cluster)
		ref, found, err := guard.Step(ctx, jobgc.Request{
			Owner: run, Ref: run.job, Done: run.done,
			Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return run, run.job, run.done, nil },
			Job:    func() (*batchv1.Job, error) { job := ownedJob(); job.Name = ""; return job, nil },
		})
		if err != nil {
			fmt.Println(err) // and try again
			return
		}
		run.job, run.done = ref, run.done || found.State == jobgc.Finished || found.Lost() // and write the status if it changed
		fmt.Println(found.State, found.Outcome, "has a TTL:", cluster.jobs[ref.Name].Spec.TTLSecondsAfterFinished != nil)
	}
	reconcile() // creates the Job
	reconcile()
	cluster.change(run.job.Name, finish(time.Now()))
	reconcile() // records the outcome
	reconcile() // sets the final TTL, because the outcome is stored
	// Output:
	// Active  has a TTL: false
	// Active  has a TTL: false
	// Finished Succeeded has a TTL: false
	// Finished Succeeded has a TTL: true
}

// A watcher that only gets events calls it on what it has.
func ExampleStateOf() {
	job := &batchv1.Job{Status: batchv1.JobStatus{
		Succeeded: 3, // of five
		Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue},
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded"},
		},
	}}
	f := jobgc.StateOf(job)
	fmt.Println(f.State, f.Outcome, f.Reason)
	// Output: Finished Failed DeadlineExceeded
}

// A loss is worth a Warning event, a condition and a count, once for each uid.
func ExampleObservation_Lost() {
	for _, s := range []jobgc.State{jobgc.Pending, jobgc.Collected, jobgc.Deleting, jobgc.Replaced, jobgc.Missing} {
		fmt.Println(s, jobgc.Observation{State: s}.Lost())
	}
	// Output:
	// Pending false
	// Collected false
	// Deleting true
	// Replaced true
	// Missing true
}

func ExampleRef_DeepCopy() {
	a := &jobgc.Ref{Name: "job", CreatedAt: ptr.To(metav1.NewTime(time.Unix(0, 0)))}
	b := a.DeepCopy()
	b.CreatedAt.Time = time.Unix(1, 0)
	fmt.Println(a.CreatedAt.Unix(), b.CreatedAt.Unix())
	// Output: 0 1
}

// managerCache reads as the cache of a manager of controller-runtime does.
type managerCache struct{ jobs *server }

// Get reads into job.
func (m managerCache) Get(_ context.Context, key types.NamespacedName, into metav1.Object, _ ...metav1.GetOptions) error {
	stored := m.jobs.jobs[key.Name]
	if stored == nil || stored.Namespace != key.Namespace {
		return notFound(key.Name)
	}
	job, _ := into.(*batchv1.Job)
	stored.DeepCopyInto(job)
	return nil
}

// With controller-runtime, the manager's cache is read.
func (m managerCache) List(_ context.Context, into metav1.ListInterface, _ ...metav1.ListOptions) error {
	list, _ := into.(*batchv1.JobList)
	for _, job := range m.jobs.jobs {
		list.Items = append(list.Items, *job)
	}
	return nil
}

func ExampleFromCache() {
	cluster := newServer()
	cluster.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "1"}})
	cached := jobgc.FromCache(managerCache{cluster}) // mgr.GetCache()
	job, err := cached.Get(context.Background(), "ns", "job")
	fmt.Println(job.UID, err)
	_, err = cached.Get(context.Background(), "ns", "other")
	fmt.Println(err)
	jobs, err := cached.List(context.Background())
	fmt.Println(len(jobs), err)
	// Output:
	// 1 <nil>
	// jobs.batch "other" not found
	// 1 <nil>
}

// lister is the lister of an informer factory of client-go.
type lister struct{ *fakeStore }

func (l lister) Jobs(namespace string) namespaced { return namespaced{l.fakeStore, namespace} }

type namespaced struct {
	*fakeStore

	namespace string
}

func (n namespaced) Get(name string) (*batchv1.Job, error) {
	return n.fakeStore.Get(context.Background(), n.namespace, name)
}

func (n namespaced) List(labels.Selector) ([]*batchv1.Job, error) {
	return n.fakeStore.List(context.Background())
}

func ExampleFromLister() {
	cluster := newServer()
	cluster.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "1"}})
	store := &fakeStore{}
	store.sync(cluster)
	cached := jobgc.FromLister(lister{store}) // factory.Batch().V1().Jobs().Lister()
	job, err := cached.Get(context.Background(), "ns", "job")
	fmt.Println(job.UID, err)
	jobs, err := cached.List(context.Background())
	fmt.Println(len(jobs), err)
	// Output:
	// 1 <nil>
	// 1 <nil>
}

// The owner of a held Job is gone.
func ExampleGuard_SweepOrphans() {
	cluster, informer := newServer(), &fakeStore{}
	job := ownedJob()
	job.UID = "1"
	job.Finalizers = []string{"agents.example.com/result"}
	cluster.put(job)
	informer.sync(cluster)
	guard, err := jobgc.New(cluster.client, informer, jobgc.Options{Finalizer: "agents.example.com/result"})
	if err != nil {
		fmt.Println(err)
		return
	}
	none := func(_ context.Context, _ string, ref metav1.OwnerReference) (metav1.Object, error) {
		return nil, notFoundOf("agents.example.com", "agentruns", ref.Name) // mgr.GetCache(), mgr.GetAPIReader()
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Millisecond) // a manager's ends with the process
	defer stop()
	err = guard.SweepOrphans(ctx, none, none)
	fmt.Println(err, len(cluster.jobs["job"].Finalizers))
	// Output: <nil> 0
}

func ExampleNameTakenError() {
	err := &jobgc.NameTakenError{Namespace: "ns", Name: "nightly-1"}
	fmt.Println(err.Error())
	// Output: the name ns/nightly-1 belongs to a Job that has no controller
}
