// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
func ExampleGuard() {
	ctx := context.Background()
	cluster := newServer()
	informer := &fakeStore{}
	guard, err := jobgc.New(cluster.client, informer, jobgc.Options{}) // New(clientset.BatchV1().Jobs, informer, ...)
	if err != nil {
		fmt.Println(err)
		return
	}
	keep := jobgc.Retention{SucceededTTL: 10 * time.Minute}
	status := jobgc.Ref{Namespace: "default", Name: "job"} // the intent is persisted first

	reconcile := func() {
		status, err = guard.Ensure(ctx, status, ownedJob())
		if err != nil {
			fmt.Println(err) // ErrTerminating: requeue; ErrNotOwned: report it
			return
		}
		// Persist status: uid and resource version are known now.
		f, err := guard.Inspect(ctx, status)
		switch {
		case err != nil:
			fmt.Println(err)
		case f.Lost():
			// Persist the failure, once for status.UID, and stop. The UID
			// stays, or the work would run twice.
			fmt.Println(f.State, f.Reason, f.Message)
		case f.State == jobgc.Finished:
			status.Outcome = f.Outcome
			// Persist status: the result is recorded now, and the Job may go.
			err := guard.Release(ctx, status, f, keep)
			status.Released = err == nil
			fmt.Println(f.State, status.Outcome, "released:", status.Released)
		default:
			fmt.Println(f.State, "again after:", f.After)
		}
	}
	informer.sync(cluster)
	cluster.version = 7
	informer.sync(cluster)
	reconcile() // created; the cache is behind
	informer.sync(cluster)
	reconcile()
	cluster.change("job", finish(time.Now()))
	informer.sync(cluster)
	reconcile()
	// Output:
	// Pending again after: 1s
	// Active again after: 10s
	// Finished Succeeded released: true
}

// A Job that has the name already is adopted only if the same controller made
// it.
func ExampleGuard_Ensure() {
	ctx, cluster := context.Background(), newServer()
	guard, _ := jobgc.New(cluster.client, nil, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
	intent := jobgc.Ref{Namespace: "default", Name: "job"}
	first, err := guard.Ensure(ctx, intent, ownedJob())
	fmt.Println(first.UID, err)
	again, err := guard.Ensure(ctx, intent, ownedJob()) // the first answer was never persisted
	fmt.Println(again.UID, err)
	other := ownedJob()
	other.OwnerReferences[0].Name, other.OwnerReferences[0].UID = "another-run", "8d02"
	_, err = guard.Ensure(ctx, intent, other)
	fmt.Println(err)
	fmt.Println("TTL until its result is recorded:", *cluster.jobs["job"].Spec.TTLSecondsAfterFinished)
	// Output:
	// uid-1 <nil>
	// uid-1 <nil>
	// jobgc: the name belongs to the Job of another controller: default/job is controlled by AgentRun run
	// TTL until its result is recorded: 604800
}

// Inspect distinguishes a deleted Job from a Job that the cache has not seen
// yet, by the versions of both.
func ExampleGuard_Inspect() {
	ctx, cluster := context.Background(), newServer()
	informer := &fakeStore{version: "41"}
	guard, _ := jobgc.New(cluster.client, informer, jobgc.Options{TrustCache: true})
	ref := jobgc.Ref{Namespace: "default", Name: "job", UID: "4f1c", ResourceVersion: "42", CreatedAt: ptr.To(metav1.Now())}
	for _, version := range []string{"41", "42"} {
		informer.version = version
		f, err := guard.Inspect(ctx, ref)
		fmt.Println(f.State, f.Source, err)
	}
	// Output:
	// Pending CacheBehind <nil>
	// Missing CachePastCreate <nil>
}

// A TTL counts from the finish; what Release promises counts from the release.
func ExampleGuard_Release() {
	ctx, cluster := context.Background(), newServer()
	guard, _ := jobgc.New(cluster.client, nil, jobgc.Options{})
	ref, _ := guard.Ensure(ctx, jobgc.Ref{Namespace: "default", Name: "job"}, ownedJob())
	cluster.change("job", finish(time.Now().Add(-time.Hour))) // the controller was down
	f, _ := guard.Inspect(ctx, ref)

	keep := jobgc.Retention{SucceededTTL: 10 * time.Minute}
	fmt.Println(guard.Release(ctx, ref, f, keep))
	ref.Outcome = f.Outcome // and persisted
	fmt.Println(guard.Release(ctx, ref, f, keep))
	left := *cluster.jobs["job"].Spec.TTLSecondsAfterFinished - 3600
	fmt.Println("ten minutes are left:", left >= 600 && left <= 610)
	// Output:
	// jobgc: release: default/job: ref.outcome is empty; record the outcome first
	// <nil>
	// ten minutes are left: true
}

// The informer's delete event carries the last state of a Job that went too
// early.
func ExampleGuard_OnDelete() {
	cluster, job := newServer(), ownedJob()
	guard, _ := jobgc.New(cluster.client, nil, jobgc.Options{})
	job.Namespace, job.UID = "default", "4f1c"
	finish(time.Now())(job)
	guard.OnDelete(job) // called by the informer: informer.AddEventHandler(guard)
	f, err := guard.Inspect(context.Background(), jobgc.Ref{Namespace: "default", Name: "job", UID: "4f1c"})
	fmt.Println(f.State, f.Outcome, f.Source, err)
	fmt.Println(f.Hint)
	// Output:
	// Finished Succeeded Tombstone <nil>
	// probably deleted by hand, with its owner or by another controller: it had no TTL
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

// A name that every replica and every restart finds again: prefix and hash have
// 60 bytes, a Job's name at most 63.
func ExampleRef() {
	run := metav1.ObjectMeta{Namespace: "default", Name: "nightly", UID: "9f1c7d52-6c1e-4a86-8a55-0a8f3f0b7d11"}
	ref := jobgc.Ref{Namespace: run.Namespace, Name: fmt.Sprintf("run-%x", sha256.Sum224([]byte(run.UID)))}
	fmt.Println(len(ref.Name), ref.UID == "") // persisted like this, before Ensure
	// Output: 60 true
}

func ExampleRef_DeepCopy() {
	a := &jobgc.Ref{Name: "job", CreatedAt: ptr.To(metav1.NewTime(time.Unix(0, 0)))}
	b := a.DeepCopy()
	b.CreatedAt.Time = time.Unix(1, 0)
	fmt.Println(a.CreatedAt.Unix(), b.CreatedAt.Unix())
	// Output: 0 1
}
