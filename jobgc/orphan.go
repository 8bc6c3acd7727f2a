// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// sweepInterval is how long SweepOrphans waits between two sweeps.
const sweepInterval = time.Minute

// orphanTimeout is how long a sweep may take for one Job.
const orphanTimeout = 10 * time.Second

// ownerReader reads the owner of a Job.
type ownerReader func(
	ctx context.Context, namespace string, owner metav1.OwnerReference,
) (metav1.Object, error)

// SweepOrphans removes Options.Finalizer from the Jobs whose owner is gone,
// because nothing will record their outcome. It looks immediately and then
// every minute. When ctx ends it returns nil. It fits manager.Add of
// controller-runtime in a RunnableFunc. Call it when the caches have synced.
//
// It looks at the Jobs in the Guard's cache. A Job with the finalizer costs a
// live read of its owner if the Job is being deleted, or if the owner is not in
// the cache. The function cached reads the owner of a Job from a cache, and
// stored from the API server. Both return a NotFound error if there is none.
// They must compare the kind of the owner, and return an error for a kind that
// they do not read.
//
// A Job that cannot be released within ten seconds does not block the others.
// Releases and failures go to the context's logger. If the CRD of the owners is
// removed, their Jobs keep the finalizer: remove it by hand.
func (g *Guard) SweepOrphans(ctx context.Context, cached, stored func(
	ctx context.Context, namespace string, owner metav1.OwnerReference,
) (metav1.Object, error),
) error {
	if g == nil || g.client == nil {
		return errNotMade()
	}
	if g.opts.Finalizer == "" {
		return errors.New("jobgc: sweep orphans: Options.Finalizer is empty, so that no Job is held")
	}
	if cached == nil || stored == nil {
		return errors.New("jobgc: sweep orphans: cached and stored must read owners; one is nil")
	}
	log := logr.FromContextOrDiscard(ctx).WithName("jobgc")
	for {
		released, err := g.releaseOrphans(ctx, cached, stored)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was stopped
		}
		if released > 0 {
			log.Info("Released Jobs whose owners are gone", "released", released)
		}
		if err != nil {
			log.Error(err, "Could not release some Jobs; the next sweep tries again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepInterval):
		}
	}
}

// releaseOrphans is one sweep. The error has the first five failures.
func (g *Guard) releaseOrphans(ctx context.Context, cached, stored ownerReader) (released int, err error) {
	jobs, err := g.cached.List(ctx)
	if err != nil {
		return 0, fmt.Errorf("the cached list of Jobs: %w", err)
	}
	var failed []error
	for _, job := range jobs {
		if unhold(job, g.opts.Finalizer) == nil {
			continue
		}
		isReleased, err := g.releaseOrphan(ctx, job, cached, stored)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s/%s: %w", job.Namespace, job.Name, err))
		}
		if isReleased {
			released++
		}
	}
	return released, errors.Join(failed[:min(len(failed), 5)]...)
}

// releaseOrphan releases a held Job if its owner is gone.
func (g *Guard) releaseOrphan(
	ctx context.Context, job *batchv1.Job, cached, stored ownerReader,
) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, orphanTimeout)
	defer stop()
	isGone, err := isOrphan(ctx, job, cached, stored)
	if err != nil || !isGone {
		return false, err
	}
	_, err = g.patch(ctx, job, unhold(job, g.opts.Finalizer))
	return err == nil, err
}

// isOrphan reports whether the API server has no owner for a held Job.
func isOrphan(ctx context.Context, job *batchv1.Job, cached, stored ownerReader) (bool, error) {
	ref := metav1.GetControllerOf(job)
	if ref == nil {
		return true, nil
	}
	if job.DeletionTimestamp == nil {
		owner, err := cached(ctx, job.Namespace, *ref)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		if err == nil && !isnil.Is(owner) && owner.GetUID() == ref.UID {
			return false, nil
		}
	}
	owner, err := stored(ctx, job.Namespace, *ref)
	isGone, err := notfound.Is(err, schema.GroupResource{}, ref.Name)
	if isGone || err != nil {
		return isGone, err
	}
	if isnil.Is(owner) || owner.GetUID() == "" {
		return false, errors.New("stored returned neither an owner with a uid nor an error")
	}
	return owner.GetUID() != ref.UID, nil
}
