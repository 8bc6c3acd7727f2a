// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgc keeps a controller from losing the result of a Job to its TTL, a stale cache or a restart, and proves a loss.
//
// A controller that sees NotFound cannot tell a Job that is gone from one that its cache has not heard of, and one that
// creates a Job with a short TTL has a tenth of a second to read the result. Either way work is lost, or done twice.
// The door is one live read:
//
//	f, err := jobgc.Look(ctx, clientset.BatchV1().Jobs(ns), jobgc.Ref{Name: name, UID: uid})
//	switch {
//	case err != nil: // not known: try again
//	case f.State == jobgc.Finished: // record f.Outcome
//	case f.Lost(): // Missing, Replaced, or Deleting before it finished; f.Reason and f.Message say why
//	case f.State == jobgc.NotCreated: // the Ref has no uid
//	case f.State == jobgc.Collected: // gone, and the Ref has its outcome
//	default: // it is still running
//	}
//
// A [Guard] does the whole life of a Job, and in a normal run costs no read and one patch beyond the creation:
//
//	guard, err := jobgc.New(clientset.BatchV1().Jobs, informer, jobgc.Options{}) // a *jobgc.Guard[typedbatchv1.JobInterface]
//	_, err = informer.AddEventHandler(guard) // or a Job deleted before it was read is Missing
//	name := fmt.Sprintf("run-%x", sha256.Sum224([]byte(run.UID))) // 60 bytes; a Job's name has at most 63
//
// The steps of each reconcile:
//
//  1. persist a [Ref] with a deterministic name such as this: the intent;
//  2. Guard.Ensure, and persist the Ref it returns;
//  3. Guard.Look; while Pending, change nothing;
//  4. when f.Lost(): persist the failure once for Ref.UID and stop; never clear the UID, or the work runs twice;
//  5. when Finished, persist Ref.Outcome;
//  6. Guard.Release, again on every reconcile: once it is done it costs no request, so Ref.Released need not be persisted.
//
// From Ensure to Release nothing but an explicit delete removes the Job; Options.Hold withstands that too (see package hold).
// Every step can be repeated after a crash, and by two replicas at once. Package expire deletes the runs themselves when
// their retention is over.
//
// # Unit tests
//
// client-go's fake clientset gives a new Job neither a uid nor a resource version, as an API server does: without a uid Ensure fails, and
// without a version what the cache cannot answer is read live at once, never Pending. A reactor gives both:
//
//	cs.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
//		job := a.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
//		job.UID, job.ResourceVersion = uuid.NewUUID(), "7"
//		return false, nil, nil
//	})
//
// A Job that leaves the cache is Pending for a second, for its delete event may be on the way: look again after Finding.After.
//
// # RBAC
//
// Jobs (batch): create, get, patch; list and watch for the informer. Where OwnerReferencesPermissionEnforcement is on, the
// creation of a Job with a controller reference also needs update on the finalizers subresource of the owner's kind. With
// Options.Hold, package hold names what its sweep needs.
//
// # When not to use it
//
// If running the work twice is harmless and nobody reads the result, create the Job with ttlSecondsAfterFinished. This
// package keeps Jobs, and while a Job stays so do its pods and their logs; it does not keep pods that something else
// deletes.
package jobgc
