// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	fluxpatch "github.com/fluxcd/pkg/runtime/patch"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	capipatch "sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/status"
)

// How each is used at the end of a reconcile, which has made after of before.

// ours is Commit.
func ours(ctx context.Context, s *server, before, after *Run) error {
	_, err := s.writer.Commit(ctx, before, after, status.Facts{Progress: status.Running})
	return err
}

// committed is the result of Commit for bigRun with the status of after.
func committed(after *Run) *Run {
	facts := status.Facts{Progress: status.Running}
	if _, err := (status.FieldNames{}).Patch(bigRun(), after, facts, noon.Add(time.Hour)); err != nil {
		return nil // a Run can be patched
	}
	return after
}

// guarded is controller-runtime's patch as careful controllers use it. It sends
// nothing if only updatedAt would change. The optimistic lock keeps it from an
// object that was recreated or written since. The Kubernetes controllers use
// semantic equality too; reflect.DeepEqual would see a difference in two equal
// times.
func guarded(ctx context.Context, s *server, before, after *Run) error {
	after.Status.UpdatedAt = before.Status.UpdatedAt
	if equality.Semantic.DeepEqual(&before.Status, &after.Status) {
		return nil
	}
	after.Status.ObservedGeneration, after.Status.UpdatedAt = before.Generation, new(metav1.Now())
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return s.client.Status().Patch(ctx, after, patch)
}

// flux is its patch helper without options, the cheapest use. NewHelper belongs
// to it: it takes the copy that the others are given as before.
func flux(ctx context.Context, s *server, before, after *Run) error {
	h, err := fluxpatch.NewHelper(before, s.client)
	if err != nil {
		return err
	}
	return h.Patch(ctx, after)
}

// capi is cluster-api's patch helper, used as flux's.
func capi(ctx context.Context, s *server, before, after *Run) error {
	h, err := capipatch.NewHelper(before, s.client)
	if err != nil {
		return err
	}
	return h.Patch(ctx, after)
}
