// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
func (s *Sweeper[J, O]) ReleaseOrphan(ctx context.Context, job metav1.Object) error {
	if !s.made() {
		return errNotMade()
	}
	if isnil.Is(job) {
		return errors.New("jobgc/hold: releaseOrphan: job is nil; pass the Job that was read")
	}
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && slices.Contains(job.GetFinalizers(), s.hold) {
		owners, err := s.ownersIn(job.GetNamespace())
		if err != nil {
			return fmt.Errorf("jobgc/hold: list owners: %w", err)
		}
		live := false
		err = list(ctx, owners, metav1.ListOptions{FieldSelector: "metadata.name=" + owner.Name}, func(o *metav1.PartialObjectMetadata) {
			live = live || o.UID == owner.UID && o.DeletionTimestamp == nil
		}, func() { live = false })
		if err != nil {
			return fmt.Errorf("jobgc/hold: list owners: %w", err)
		}
		if live {
			return nil
		}
	}
	return s.removeFinalizer(ctx, job)
}

// removeFinalizer patches a Job that has the finalizer. The patch tests the uid
// and the element that it removes.
func (s *Sweeper[J, O]) removeFinalizer(ctx context.Context, job metav1.Object) error {
	removal := finalizer.Removal(job.GetFinalizers(), s.hold)
	if removal == nil {
		return nil
	}
	patch, err := json.Marshal(append([]finalizer.Operation{{Op: "test", Path: "/metadata/uid", Value: job.GetUID()}}, removal...))
	if err != nil {
		return fmt.Errorf("jobgc/hold: removeFinalizer: %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	}
	jobs, err := s.jobsIn(job.GetNamespace())
	if err != nil {
		return fmt.Errorf("jobgc/hold: removeFinalizer: %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	}
	_, err = jobs.Patch(ctx, job.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
	if _, err = notfound.Is(err, schema.GroupResource{Group: "batch", Resource: "jobs"}, job.GetName()); err != nil {
		return fmt.Errorf("jobgc/hold: removeFinalizer: %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	}
	return nil
}
