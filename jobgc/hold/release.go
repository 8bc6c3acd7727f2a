// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
	"github.com/proompteng/controllerkit/jobgc/internal/finalizer"
)

// ReleaseOrphan releases one held Job whose owner is gone or is being deleted,
// or that has no controller. Unlike Sweep, it does not wait for finalizers of
// the owner. It does nothing if the owner lives or the Job is not held. Call it
// when a controller finds a held Job and not its owner, so that the deletion
// does not wait for the next sweep. It lists the owner by its name, because a
// cache may not have it yet. The uid, the finalizers and the owner of job must
// be those that were read. If they have changed since, the API server refuses
// the patch, and ReleaseOrphan returns that error. Then read the Job again.
func (s *Sweeper) ReleaseOrphan(ctx context.Context, job metav1.Object) error {
	if !s.made() {
		return errNotMade()
	}
	if isnil.Is(job) {
		return errors.New("jobgc/hold: releaseOrphan: job is nil; pass the Job that was read")
	}
	if !slices.Contains(job.GetFinalizers(), s.hold) {
		return nil
	}
	lives, err := s.ownerLives(ctx, job)
	if err != nil {
		return fmt.Errorf("jobgc/hold: list owners: %w", err)
	}
	if lives {
		return nil
	}
	return s.removeFinalizer(ctx, job)
}

// ownerLives reports whether a Job has an owner that is not being deleted.
func (s *Sweeper) ownerLives(ctx context.Context, job metav1.Object) (bool, error) {
	controller := metav1.GetControllerOfNoCopy(job)
	if controller == nil {
		return false, nil
	}
	owners, err := s.ownersIn(job.GetNamespace())
	if err != nil {
		return false, err
	}
	opts := metav1.ListOptions{FieldSelector: "metadata.name=" + controller.Name}
	living, err := list(ctx, owners, opts, func(o *metav1.PartialObjectMetadata) (types.UID, bool) {
		return o.UID, o.UID == controller.UID && o.DeletionTimestamp == nil
	})
	return len(living) > 0, err
}

// removeFinalizer patches a Job that has the finalizer. The patch tests the uid
// and the element that it removes.
func (s *Sweeper) removeFinalizer(ctx context.Context, job metav1.Object) error {
	removal := finalizer.Removal(job.GetFinalizers(), s.hold)
	if removal == nil {
		return nil
	}
	err := s.patch(ctx, job, removal)
	_, err = notfound.Is(err, batchv1.Resource("jobs"), job.GetName())
	if err != nil {
		return fmt.Errorf("jobgc/hold: removeFinalizer: %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	}
	return nil
}

// patch sends the operations if the Job is still the one that was read.
func (s *Sweeper) patch(ctx context.Context, job metav1.Object, operations []finalizer.Operation) error {
	isTheSame := finalizer.Operation{Op: "test", Path: "/metadata/uid", Value: job.GetUID()}
	data, err := json.Marshal(slices.Insert(operations, 0, isTheSame))
	if err != nil {
		return err
	}
	jobs, err := s.jobsIn(job.GetNamespace())
	if err != nil {
		return err
	}
	_, err = jobs.Patch(ctx, job.GetName(), types.JSONPatchType, data, metav1.PatchOptions{})
	return err
}
