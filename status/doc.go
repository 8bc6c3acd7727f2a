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
// Embed [Stamp] in the status of the kind. Build a [Writer] once: with
// [ForClient] from controller-runtime's client, or from a client of client-go:
//
//	writer := status.ForResource(clientset.ExampleV1().Runs)
//
// [Writer.Commit] replaces Get, UpdateStatus and a retry on conflict. A kind
// that runs and ends also passes [Facts], which say how far the work is:
//
//	before := run.DeepCopy()
//	run.Status.Phase = "Running"
//	result, err := writer.Commit(ctx, before, run, status.Facts{Progress: status.Running})
//
// Commit carries over what other writers changed outside of this controller's
// status. If the status changed otherwise, or the object was recreated, it
// writes nothing and returns an error. Return it from Reconcile, so that the
// controller tries again: the other writer may be its own next leader.
//
// [FieldNames.Patch] is the contract as a pure function, for any client. Kinds
// with other field names, typed or unstructured, set [FieldNames]. Package
// status/rules makes the API server hold every writer to the contract, and
// package status/statustest tests a controller.
//
// The package starts no goroutine and does not log. A Writer remembers only its
// last writes, for five minutes. An error about a value names the field and
// what is accepted.
//
// # Stale caches
//
// A cache may be late: a reconcile then starts from a copy that is older than
// the controller's own last write. The Writer remembers the version that its
// last write of each object returned. [Writer.IsStale] reports such a copy
// before the work is done again, and Commit refuses it with [ErrStaleRead],
// without a request. The Writer does not know writes of an earlier process, nor
// writes from more than five minutes ago. It accepts a copy from before those,
// and Commit returns [ErrFieldConflict] if it has something to write.
//
// EnableReadYourWritesConsistency of controller-runtime v0.25 makes reads wait
// for the cache. It is experimental. It knows the writes of this process only,
// and does not hold for unstructured objects. A live read works with every
// client.
//
// Make one Writer for a controller and share it: only its copies share what it
// remembers. It needs the object's uid, and resourceVersions that are numbers.
// It remembers at most 16384 objects, in about 4 MiB, and then forgets all.
//
// # Two controllers of one object
//
// The controller that reconciles the spec owns observedGeneration, startedAt
// and finishedAt. Every other controller sets FieldNames.ObservedGeneration to
// "-" and passes no [Facts]. It reports by conditions, which carry the
// generation that it read. Each controller makes its own Writer, and lists its
// conditions in Writer.Owned.
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
// elements of several owners. An example is an object in which ten controllers
// have one condition each. If they write at the same time, a Commit sends its
// patch up to five times, and some Commits fail. An apply costs one patch and
// does not conflict. With a client of client-go:
//
//	apply := &unstructured.Unstructured{Object: map[string]any{
//		"apiVersion": "example.com/v1", "kind": "Run", "metadata": map[string]any{"name": name},
//		"status": map[string]any{"conditions": []any{condition}},
//	}}
//	options := metav1.ApplyOptions{FieldManager: "quota", Force: true}
//	_, err := client.ApplyStatus(ctx, name, apply, options)
//
// The CRD must declare the list of conditions with listType=map and
// listMapKey=type. Otherwise an apply replaces the conditions of the others.
// One Writer may own the rest of the status. A whole example is in
// examples/unstructured/condition.
//
// Use Update of the status, or a JSON Patch, for a field that the schema
// requires and that may be null: a merge patch cannot carry null. For a status
// with a single condition, meta.SetStatusCondition of apimachinery and an
// Update are enough. For a Ready that sums up other conditions, use
// conditions.SetSummary of flux or cluster-api before Commit.
package status
