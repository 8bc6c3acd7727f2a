// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	fluxpatch "github.com/fluxcd/pkg/runtime/patch"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	capipatch "sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/status"
)

// How each is used at the end of a reconcile, which has made after of before.

// ours is Commit. The clock does not move, so that a fixed reply equals the
// request.
func ours(ctx context.Context, w status.Writer, before, after status.Object) error {
	_, err := w.At(noon.Add(time.Hour)).Commit(ctx, before, after, status.Facts{Progress: status.Running})
	return err
}

// resource is the client of one namespace, for every namespace.
func resource[C any](c C) func(string) C { return func(string) C { return c } }

// committed is the result of Commit for bigRun with the status of after.
func committed(after *Run) *Run {
	facts := status.Facts{Progress: status.Running}
	if _, err := status.Patch(bigRun(), after, facts, noon.Add(time.Hour)); err != nil {
		return nil // a Run can be patched
	}
	return after
}

// guarded is controller-runtime's patch as careful controllers use it. It sends
// nothing if only updatedAt would change. The optimistic lock keeps it from an
// object that was recreated or written since. The Kubernetes controllers use
// semantic equality too; reflect.DeepEqual would see a difference in two equal
// times.
func guarded(ctx context.Context, c client.Client, before, after *Run) error {
	after.Status.UpdatedAt = before.Status.UpdatedAt
	if equality.Semantic.DeepEqual(&before.Status, &after.Status) {
		return nil
	}
	after.Status.ObservedGeneration, after.Status.UpdatedAt = before.Generation, new(metav1.Now())
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return c.Status().Patch(ctx, after, patch)
}

// guardedUntyped is guarded for a kind without Go types. The conversion is what
// client.MergeFrom wants of the two, and unstructured content holds nothing but
// plain values, so equality needs no tolerance beyond Semantic's nil and empty.
func guardedUntyped(ctx context.Context, c client.Client, before, after *unstructured.Unstructured) error {
	if equality.Semantic.DeepEqual(before.Object["status"], after.Object["status"]) {
		return nil
	}
	st, ok := after.Object["status"].(map[string]any)
	if ok {
		st["observedGeneration"] = before.GetGeneration()
		st["updatedAt"] = metav1.Now().UTC().Format("2006-01-02T15:04:05Z07:00")
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return c.Status().Patch(ctx, after, patch)
}

// flux is its patch helper without options, the cheapest use. NewHelper belongs
// to it: it takes the copy that the others are given as before.
func flux(ctx context.Context, c client.Client, before, after *Run) error {
	h, err := fluxpatch.NewHelper(before, c)
	if err != nil {
		return err
	}
	return h.Patch(ctx, after)
}

// capi is cluster-api's patch helper, used as flux's.
func capi(ctx context.Context, c client.Client, before, after *Run) error {
	h, err := capipatch.NewHelper(before, c)
	if err != nil {
		return err
	}
	return h.Patch(ctx, after)
}
