// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgc keeps a controller from losing the result of a Job to its TTL,
// a stale cache or a restart, and proves a loss.
//
// A NotFound from a lister does not mean that the Job was deleted: the cache
// may not have seen it yet. A Job with a TTL of 0 is deleted about 0.1 seconds
// after it ends. Either way a result is lost, or the work runs twice. One live
// read answers whether a Job is gone:
//
//	f, err := jobgc.Inspect(ctx, clientset.BatchV1().Jobs(ns), jobgc.Ref{Name: name, UID: uid})
//
// A [Guard] does the whole life of a Job. One call in each reconcile creates
// it, observes it, suspends it, and releases it after its result is recorded:
//
//	guard, err := jobgc.New(clientset.BatchV1().Jobs, informer, jobgc.Options{})
//
//	func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
//		task := new(v1.Task)
//		if err := r.Get(ctx, req.NamespacedName, task); err != nil || task.DeletionTimestamp != nil {
//			return ctrl.Result{}, client.IgnoreNotFound(err)
//		}
//		before := task.DeepCopy()
//		ref, found, err := r.Jobs.Step(ctx, jobgc.Request{
//			Owner: task, Ref: task.Status.Job, Done: task.Done(),
//			Job: func() (*batchv1.Job, error) { return newJob(task), nil },
//			Stored: func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
//				live := new(v1.Task)
//				err := r.Live.Get(ctx, req.NamespacedName, live) // mgr.GetAPIReader()
//				return live, live.Status.Job, live.Done(), err
//			},
//		})
//		if err != nil {
//			return ctrl.Result{}, err
//		}
//		task.Status.Job = ref
//		enter(task, found) // your phases and conditions
//		if !equality.Semantic.DeepEqual(before.Status, task.Status) {
//			err = r.Status().Patch(ctx, task, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
//		}
//		return ctrl.Result{RequeueAfter: found.After}, err
//	}
//
// examples/controller-runtime has this reconciler in onejob, and a complete
// controller. Package expire deletes the runs themselves when their retention
// is over.
//
// # What each request is for
//
// A controller can be killed before or after each request of a run. The
// requests are, in this order:
//
//  1. Read the owner live. A stale copy may not show that the Job exists, has
//     finished, or is cancelled.
//  2. Create run-<uid of the owner>. After a crash the next call finds this
//     name taken and adopts the Job, because its controller is the owner.
//  3. Write the Ref with the uid. From here on a missing Job is a loss and is
//     not created again.
//  4. Write the outcome. Until here the TTL is UnrecordedTTL or none, so the
//     Job waits for a controller that is down. If the API server refuses to
//     raise the TTL of a Job that was found (Forbidden, Invalid, BadRequest),
//     Step keeps the Job and its TTL. The result is then lost if the controller
//     is down for longer than that TTL.
//  5. Read the owner live. The outcome may be in memory only.
//  6. Patch the final TTL, with a test of the uid. After a crash the next call
//     patches. A Job whose TTL is already the final one needs neither 5 nor 6,
//     if Options.Finalizer is not set.
//
// So a run costs 3 writes, 4 with a final TTL, and one more if you also record
// that it runs. The reads 1 and 5 must be live, or come from a cache that waits
// for the controller's own writes where only one replica works.
//
// Step gives up a creation 10 seconds after its read of the owner. Work can
// still run twice in four cases. First, a replica stalls between 1 and 2 while
// a second replica takes the same run to its end. With a final TTL of a minute
// or more the name is then still taken; with a shorter one the name may be
// free. Second, someone deletes a Job before its Ref is written;
// Options.Finalizer prevents that. Third, someone deletes the owner during a
// creation, and creates it again: the garbage collector deletes the first Job,
// but it may have begun. Fourth, the controller was killed after the creation
// and restarted with a longer UnrecordedTTL. If every patch then fails until
// the old TTL deletes the Job, Step creates it again.
//
// # Unit tests
//
// client-go's fake clientset gives a new Job no uid, and Step fails without
// one. Package jobgctest makes the fake give one to each Job.
//
// A Job that leaves the cache is Pending for a second, because its delete event
// may be on the way: look again after Observation.After.
//
// Step releases the Job of a run that is Done only once the informer shows it:
// wait for the informer before you expect the release.
//
// # RBAC
//
// Jobs (batch): create, get, patch; list and watch for the informer; delete
// with Options.DeleteCancelled. The owner's kind: get. Where
// OwnerReferencesPermissionEnforcement is on, the creation of a Job with a
// controller reference also needs update on the finalizers subresource of the
// owner's kind. With Options.Finalizer, package hold names what its sweep
// needs.
//
// # When not to use it
//
// If the work may run twice and its result is not needed, create the Job with
// ttlSecondsAfterFinished. An owner of many Jobs, such as a CronJob,
// does not fit: an owner has one Ref, and the Job has its name from the owner.
// Create one object for each Job. This package keeps Jobs. The pods and logs of
// a Job stay as long as the Job does, unless something else deletes them.
package jobgc
