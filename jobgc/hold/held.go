// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// held lists the Jobs that carry the finalizer, the oldest first. There is no
// selector for finalizers.
func (s *Sweeper) held(ctx context.Context) ([]*metav1.PartialObjectMetadata, error) {
	jobs, err := s.jobsIn(s.opts.Namespace)
	if err != nil {
		return nil, fmt.Errorf("jobgc/hold: list Jobs: %w", err)
	}
	opts := metav1.ListOptions{LabelSelector: s.opts.Selector}
	isHeld := func(job *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, bool) {
		return job, slices.Contains(job.Finalizers, s.hold)
	}
	held, err := list(ctx, jobs, opts, isHeld)
	if err != nil {
		return nil, fmt.Errorf("jobgc/hold: list Jobs: %w", err)
	}
	slices.SortStableFunc(held, func(a, b *metav1.PartialObjectMetadata) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return held, nil
}

// owner is what a sweep knows of an owner.
type owner struct {
	uid types.UID
	// ends says that only its Job keeps it: it is being deleted, and has no
	// finalizer of a controller, which waits for the result.
	ends bool
}

// abandoned returns the held Jobs that no controller will release: those
// without an owner, and those that are being deleted with it.
func (s *Sweeper) abandoned(
	ctx context.Context, held []*metav1.PartialObjectMetadata,
) ([]*metav1.PartialObjectMetadata, error) {
	if len(held) == 0 {
		return nil, nil
	}
	owners, err := s.ownersIn(s.opts.Namespace)
	if err != nil {
		return nil, fmt.Errorf("jobgc/hold: list owners: %w", err)
	}
	all := func(o *metav1.PartialObjectMetadata) (owner, bool) { return owner{o.UID, ends(o)}, true }
	known, err := list(ctx, owners, metav1.ListOptions{}, all)
	if err != nil {
		return nil, fmt.Errorf("jobgc/hold: list owners: %w", err)
	}
	byUID := map[types.UID]owner{}
	for _, o := range known {
		byUID[o.uid] = o
	}
	var out []*metav1.PartialObjectMetadata
	for _, job := range held {
		if isAbandoned(job, byUID) {
			out = append(out, job)
		}
	}
	return out, nil
}

func isAbandoned(job *metav1.PartialObjectMetadata, owners map[types.UID]owner) bool {
	controller := metav1.GetControllerOfNoCopy(job)
	if controller == nil {
		return true
	}
	o, found := owners[controller.UID]
	if !found {
		return true
	}
	return o.ends && job.DeletionTimestamp != nil
}

func ends(o *metav1.PartialObjectMetadata) bool {
	if o.DeletionTimestamp == nil {
		return false
	}
	for _, name := range o.Finalizers {
		switch name {
		case metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents:
		default:
			return false
		}
	}
	return true
}
