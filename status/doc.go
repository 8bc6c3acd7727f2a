// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status updates the status of Kubernetes objects safely under
// concurrent writes, restarts and recreated objects.
//
// Common bugs are to report a generation that was never reconciled, to
// overwrite a newer status on retry, and to rewrite idle objects on every
// resync. This package gives four fields one meaning:
//
//	observedGeneration  generation of the spec that the status was computed from; never goes back
//	updatedAt           time of the last write; a reconcile that changes nothing writes nothing
//	startedAt           first time the object was running; never moves
//	finishedAt          first time the object was done; never moves
//
// Embed [Stamp] in the status of the kind, and build a [Writer] once, from
// controller-runtime's client:
//
//	writer := status.ForClient(c.Patch, c.Status().Patch, client.RawPatch)
//
// or from a client of client-go:
//
//	writer := status.ForResource(clientset.ExampleV1().Runs)
//
// [Writer.Commit] replaces Get, UpdateStatus and a retry on conflict. [Facts]
// says how far the work is:
//
//	before := run.DeepCopy()
//	run.Status.Phase = "Running"
//	result, err := writer.Commit(ctx, before, run, status.Facts{Progress: status.Running})
//
// Commit merges changes of other writers. If the object was recreated or has a
// newer status, it writes nothing and returns an error. Return it from
// Reconcile, so that the controller tries again.
//
// [Patch] is the contract as a pure function, for any client. [FieldNames]
// adapts Commit and Patch to kinds with other field names, typed or
// unstructured. [Rules] makes the API server hold every writer to the contract,
// and [Check] tests a controller.
//
// The package starts no goroutine and does not log. A Writer remembers only
// which fields the API server does not keep. An error about a value names the
// field and what is accepted.
//
// # Two controllers of one object
//
// The controller that reconciles the spec owns observedGeneration, startedAt
// and finishedAt. Every other controller sets FieldNames.ObservedGeneration to
// "-" and passes the zero [Facts]. It reports by conditions, which carry the
// generation that it read.
//
// # RBAC
//
// Commit needs the verb patch on the status subresource, such as "runs/status".
// It uses patch on "runs" only after a 404, to find out whether the object is
// gone or its CRD has no status subresource. Without that right Commit takes
// both for a deleted object.
//
// # When not to use it
//
// Use server-side apply for fields that many programs write, and for lists with
// elements of several owners. For a status with a single condition,
// meta.SetStatusCondition of apimachinery and an Update are enough.
package status
