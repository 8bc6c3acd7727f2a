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
	keep := jobgc.Retention{SucceededTTL: 10 * time.Minute, UnrecordedTTL: week}
	guard, err := jobgc.New(cluster.client, informer.get, informer, jobgc.Options{Retention: keep}) // see New
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
		ttl := time.Duration(*cluster.jobs[ref.Name].Spec.TTLSecondsAfterFinished) * time.Second
		fmt.Println(found.State, found.Outcome, "TTL:", ttl.Round(time.Minute))
	}
	reconcile() // creates the Job
	reconcile()
	cluster.change(run.job.Name, finish(time.Now()))
	reconcile() // records the outcome
	reconcile() // sets the final TTL, because the outcome is stored
	// Output:
	// Active  TTL: 168h0m0s
	// Active  TTL: 168h0m0s
	// Finished Succeeded TTL: 168h0m0s
	// Finished Succeeded TTL: 10m0s
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
	if stored == nil {
		return notFound(key.Name)
	}
	job, _ := into.(*batchv1.Job)
	stored.DeepCopyInto(job)
	return nil
}

// With controller-runtime, the manager's cache is read.
func ExampleCachedBy() {
	cluster := newServer()
	cluster.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "1"}})
	cached := jobgc.CachedBy(managerCache{cluster}) // mgr.GetCache()
	job, err := cached(context.Background(), "ns", "job")
	fmt.Println(job.UID, err)
	_, err = cached(context.Background(), "ns", "other")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// jobs.batch "other" not found
}

// A unit test starts no informer.
func ExampleNewUncached() {
	guard, err := jobgc.NewUncached(newServer().client, jobgc.Options{})
	fmt.Println(guard != nil, err)
	// Output: true <nil>
}

func ExampleNameTakenError() {
	err := &jobgc.NameTakenError{Namespace: "ns", Name: "nightly-1"}
	fmt.Println(err.Error())
	// Output: the name ns/nightly-1 belongs to a Job that has no controller
}
