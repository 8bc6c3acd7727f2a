// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgc keeps a controller from losing the outcome of a Job to its TTL,
// a stale cache or a restart.
//
// A NotFound from a lister does not mean that the Job was deleted: the cache
// may not have seen it yet. A Job with a TTL of 0 is deleted about 0.1 seconds
// after it ends. Either way an outcome is lost, or the work runs twice. One
// live read answers whether a Job is gone:
//
//	f, err := jobgc.Inspect(ctx, clientset.BatchV1().Jobs(ns), jobgc.Ref{Name: name, UID: uid})
//
// A [Guard] manages the whole life of a Job. One call in each reconcile creates
// it, observes it, suspends it, and releases it after its outcome is recorded:
//
//	cached := jobgc.FromCache(mgr.GetCache())
//	guard, err := jobgc.New(clientset.BatchV1().Jobs, cached, jobgc.Options{})
//
//	func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
//		task := new(v1.Task)
//		if err := r.Get(ctx, req.NamespacedName, task); err != nil {
//			return ctrl.Result{}, client.IgnoreNotFound(err)
//		}
//		before := task.DeepCopy()
//		ref, found, err := r.Jobs.Step(ctx, jobgc.Request{
//			Owner: task, Ref: task.Status.Job, Done: task.Done(),
//			// Name: what your Jobs have been called so far, if you have any.
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
// examples/controller-runtime has this reconciler in onejob. [New] shows the
// setup. Package settings reads the retention from the environment. Package
// expire deletes the runs themselves when their retention is over.
//
// # What each request is for
//
// A controller can be killed before or after each request of a run:
//
//  1. Read the owner live, because the caller's copy may be stale.
//  2. Create run-<uid of the owner>, or Request.Name. After a crash the next
//     call finds this name taken and adopts the Job.
//  3. Write the Ref. From here on a missing Job is a loss.
//  4. Write the outcome. Until here the Job has no TTL.
//  5. Release the Job: patch its final TTL, and remove Options.Finalizer.
//
// A run costs 3 writes: the Job, the Ref and the outcome. A final TTL or a
// finalizer costs a fourth, and a status that says "running" one more. To save
// that one, write the Ref when the Job has started, two seconds late at most.
// Without a cache each call also reads the Job. With one, a run that has ended
// costs no request, also after a restart: what Step needs is in the Ref, the
// cache and the API server. After the API server's store was restored from a
// backup, restart the controllers, as Kubernetes says.
//
// # When work can run twice, or an outcome is lost
//
// The read of the owner and the creation may take 60 seconds together, the wait
// for the client's rate limiter included. Give a reconcile at least 90 seconds.
// Work can still run twice in these cases:
//
//   - A replica stalls between 1 and 2 while another takes the run to its end.
//     A final TTL of 90 seconds or more prevents this, because the name is
//     still taken, unless the run was cancelled or someone deletes the Job. If
//     a connection breaks, the API server may create the Job later, within its
//     --request-timeout of 60 seconds by default: add that to the TTL.
//   - Someone deletes a Job before its Ref is written. Options.Finalizer
//     prevents this.
//   - Someone deletes the owner during a creation, and creates it again. The
//     garbage collector deletes the first Job, but it may have begun.
//
// A finished Job that someone deletes in the second before its outcome is
// recorded is Missing. Options.Finalizer prevents this too. Finished Jobs of a
// controller that was removed stay until their owners go.
//
// # Adoption
//
// A controller that already creates Jobs has runs in flight on the day when it
// begins to use Step. Set Request.Name to the name that it gives to its Jobs:
// Step takes them over, also finished ones. Without a Name, Step returns an
// error for an owner that controls a Job of another name. It looks for one if
// the owner was created before the first call of Step, or in the minute after
// it: work can run twice if this clock is more than a minute behind that of the
// API server. The old version must have stopped before that first call. A run
// that has ended must be Done: its Job gets its final TTL, and no Ref.
//
// # Unit tests
//
// Package jobgctest makes client-go's fake clientset give each Job a uid, which
// Step needs. Without an informer, pass nil for the cache. If the cache lacks
// the Job, Step returns Pending until the Ref is 11 seconds old, because the
// cache may be late.
//
// # RBAC
//
// Jobs (batch): create, get, list, patch, delete; watch for the informer. The
// owner's kind: get. Where OwnerReferencesPermissionEnforcement is on, the
// creation of a Job with a controller reference also needs update on the
// finalizers subresource of the owner's kind.
//
// # When not to use it
//
// If the work may run twice and its outcome is not needed, create the Job with
// ttlSecondsAfterFinished. An owner of many Jobs, such as a CronJob, does not
// fit: create one object for each Job. Pods and logs stay as long as their Job,
// unless something else deletes them.
package jobgc
