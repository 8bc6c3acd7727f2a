// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgc keeps a controller from losing the result of a Job to its TTL,
// a stale cache or a restart. It tells a Job that is lost from a Job that a
// cache has not seen yet.
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
//	cached := jobgc.CachedBy(mgr.GetCache())
//	guard, err := jobgc.New(clientset.BatchV1().Jobs, cached, informer, jobgc.Options{})
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
//			lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
//			err = r.Status().Patch(ctx, task, lock)
//			if err != nil {
//				return ctrl.Result{}, err
//			}
//		}
//		return ctrl.Result{RequeueAfter: found.After}, nil
//	}
//
// examples/controller-runtime has this reconciler in onejob, and a complete
// controller. [New] shows the setup. Package settings reads the retention from
// the environment. Package expire deletes the runs themselves when their
// retention is over.
//
// # What each request is for
//
// A controller can be killed before or after each request of a run:
//
//  1. Read the owner live, because the caller's copy may be stale.
//  2. Create run-<uid of the owner>, or Request.Name. After a crash the next
//     call finds this name taken and adopts the Job.
//  3. Write the Ref. From here on a missing Job is a loss.
//  4. Write the outcome. Until here the TTL is UnrecordedTTL, the Job's own TTL
//     if that is longer, or none if UnrecordedTTL is zero.
//  5. Read the owner live, because the outcome may be in memory only.
//     Request.RecordedAt saves this read.
//  6. Patch the final TTL.
//
// If a Job is there again that this process has seen deleted, or has a state
// that it had before, the API server's store was restored from a backup. Step
// then believes no cached owner, and changes nothing before a live read agrees
// with the copy.
//
// A run costs 3 writes: the Job, the Ref and the outcome. A final TTL costs a
// fourth. After a restart, the first call for a run that has ended, whose Ref
// is not released and whose Job the cache lacks, reads the Job live and returns
// Released, which is one more write, once. The write of the Ref may wait until
// the Job has started, at most two seconds, and then say "running" too; a
// separate write costs one more. Let owners whose Job exists go before owners
// that wait for their first Job, so that a long queue does not make the Ref
// wait. With one replica the reads 1 and 5 may come from a cache that waits for
// the controller's own writes.
//
// # When work can run twice
//
// The read of the owner may take 30 seconds, and the creation 60 seconds after
// the answer. Both include the wait for the client's rate limiter. Then Step
// gives up, and its error says what took the time. Give a reconcile at least
// two minutes: a shorter context or rest.Config.Timeout ends them earlier. Work
// can still run twice in these cases:
//
//   - A replica stalls between 1 and 2 while another takes the run to its end.
//     A final TTL of 90 seconds or more prevents this: the name is still taken,
//     unless someone or Options.DeleteCancelled deletes the Job. The log and
//     Retention.Warnings report a shorter TTL. If a connection
//     breaks, the API server may work on its request for a while, at most for
//     its --request-timeout. Add that, 60 seconds by default, to rule this out.
//   - Someone deletes a Job before its Ref is written, and this process has not
//     seen the Job finish. Options.Finalizer prevents this.
//   - Someone deletes the owner during a creation, and creates it again. The
//     garbage collector deletes the first Job, but it may have begun.
//   - The controller is killed after the creation and restarted with a longer
//     UnrecordedTTL, and every patch fails until the old TTL deletes the Job.
//
// # Adoption
//
// A controller that already creates Jobs has runs in flight on the day when it
// begins to use Step. Set Request.Name to the name that it gives to its Jobs:
// Step takes them over, also finished ones. Stop the old version before the new
// one starts. A run that has ended must be Done. The result of a Job of the old
// version that is deleted before the first call of Step for its run is lost.
//
// Without a Name, Step returns an error for a run that has no Ref and an
// unfinished Job of another origin. It repeats the error after that Job has
// finished. A restart forgets that, and a Job that had finished before the
// start does not count. For this the informer's handler keeps about 85 bytes
// for each unfinished Job that Step has not created, until the Job ends: 4 MiB
// for 50,000 Jobs of CronJobs.
//
// # Unit tests
//
// Package jobgctest makes client-go's fake clientset give each Job a uid, which
// Step needs. Use [NewUncached] in tests that start no informer: with New, Step
// returns Pending until the informer has synced. If the cache lacks the Job,
// Step returns Pending until the Ref is 11 seconds old, because the cache may
// be late. If a live read then finds no Job, Step returns Pending for another
// second, because the delete event may be on the way. A delete event ends both.
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
// ttlSecondsAfterFinished. An owner of many Jobs, such as a CronJob, does not
// fit: create one object for each Job. Pods and logs stay as long as their Job,
// unless something else deletes them.
package jobgc
