// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status writes the status of Kubernetes objects under one contract, whoever writes and whatever happens meanwhile.
//
// Every controller has observedGeneration and a few times in its status, and most get them slightly wrong: a spec that
// changed mid-reconcile is claimed as seen, a retry overwrites a newer verdict, an idle object is written for ever. Here
// they mean one thing:
//
//	observedGeneration  generation of the spec that the status was computed from; never goes back
//	updatedAt           time of the last write; a reconcile that changes nothing writes nothing
//	startedAt           first time the object was running; never moves
//	finishedAt          first time the object was done; never moves
//
// [Patch] is the contract as a pure function, for any client:
//
//	after := run.DeepCopy()
//	after.Status.Phase = "Running"
//	patch, err := status.Patch(run, after, status.Facts{Progress: status.Running}, time.Now())
//
// [Writer] sends it by a client's Patch method, which is passed as it is, in place of Get, UpdateStatus and a retry on conflict:
//
//	result, err := status.Writer[*Run]{}.Commit(ctx, clients.Runs(ns).Patch, run, after, status.Facts{Progress: status.Running})
//
// It merges what others wrote meanwhile, and refuses to write on an object that was recreated or has a newer status: return that
// error, so that the key is tried again; nothing was written. A kind of your own embeds [Stamp] in its status. [Names] fits both
// to kinds with field names of their own, typed or unstructured. [Rules] makes the API server hold every other writer to the
// contract, and [Check] tests your own controller.
//
// Nothing here starts a goroutine, logs or keeps state. Every error names the field and what is accepted.
//
// # RBAC
//
// Patch on the status subresource: verb patch on "runs/status". Patch on "runs" itself is used only after a 404, to tell
// an object that is gone from a CRD without that subresource; without it both count as gone.
//
// # When not to use it
//
// Not for many writers of one field, nor for lists that several programs own element by element: use server-side apply.
// Not for a status that is one condition: apimachinery's meta.SetStatusCondition and an Update do.
package status
