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

// SweepOrphans calls ReleaseOrphans now and then every minute, until ctx ends;
// then it returns nil. It fits manager.Add of controller-runtime in a
// RunnableFunc. Call it when the caches have synced. Releases and failures go
// to the context's logger.
func (g *Guard) SweepOrphans(ctx context.Context, cached, stored func(
	ctx context.Context, namespace string, owner metav1.OwnerReference,
) (metav1.Object, error),
) error {
	log := logr.FromContextOrDiscard(ctx).WithName("jobgc")
	for {
		released, err := g.ReleaseOrphans(ctx, cached, stored)
		if errors.Is(err, errBadSweep) {
			return err
		}
		if released > 0 {
			log.Info("Released Jobs whose owners are gone", "released", released)
		}
		if err != nil && ctx.Err() == nil {
			log.Error(err, "Could not release some Jobs; the next sweep tries again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepInterval):
		}
	}
}

// errBadSweep is in the errors of a sweep that no retry helps.
var errBadSweep = errors.New("jobgc: release orphans")

// ReleaseOrphans removes Options.Finalizer from the cached Jobs whose owner is
// gone, so that nothing will record their outcome. It looks at the Jobs in the
// Guard's cache. Only a held Job that is being deleted, or whose owner is not
// in the cache, costs a live read of its owner. The function cached reads the
// owner of a Job from a cache, and stored from the API server. Both return a
// NotFound error if there is none. They must compare the kind of the owner, and
// return an error for a kind that they do not read. A Job that cannot be
// released within ten seconds does not block the others; the error names the
// first five. If the CRD of the owners is removed, their Jobs stay held: remove
// the finalizer by hand.
func (g *Guard) ReleaseOrphans(ctx context.Context, cached, stored func(
	ctx context.Context, namespace string, owner metav1.OwnerReference,
) (metav1.Object, error),
) (released int, err error) {
	switch {
	case g == nil || g.client == nil:
		return 0, fmt.Errorf("%w: %w", errBadSweep, errNotMade())
	case g.opts.Finalizer == "":
		return 0, fmt.Errorf("%w: Options.Finalizer is empty, so that no Job is held", errBadSweep)
	case cached == nil || stored == nil:
		return 0, fmt.Errorf("%w: cached and stored must read owners; one is nil", errBadSweep)
	}
	jobs, err := g.cached.List(ctx)
	if err != nil {
		return 0, fmt.Errorf("jobgc: release orphans: the cached list of Jobs: %w", err)
	}
	var failed []error
	for _, job := range jobs {
		if ctx.Err() != nil {
			return released, ctx.Err()
		}
		removal := unhold(job, g.opts.Finalizer)
		if removal == nil {
			continue
		}
		within, stop := context.WithTimeout(ctx, orphanTimeout)
		orphan, err := isOrphan(within, job, cached, stored)
		if orphan {
			_, err = g.patch(within, job, removal)
		}
		stop()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s/%s: %w", job.Namespace, job.Name, err))
			continue
		}
		if orphan {
			released++
		}
	}
	return released, joined(failed)
}

// joined is one error of the first five.
func joined(failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("jobgc: release orphans: %w", errors.Join(failed[:min(len(failed), 5)]...))
}

// isOrphan reports whether the API server has no owner for a held Job.
func isOrphan(ctx context.Context, job *batchv1.Job, cached, stored func(
	ctx context.Context, namespace string, owner metav1.OwnerReference,
) (metav1.Object, error),
) (bool, error) {
	ref := metav1.GetControllerOf(job)
	if ref == nil {
		return true, nil
	}
	if job.DeletionTimestamp == nil {
		owner, err := cached(ctx, job.Namespace, *ref)
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			return false, err
		case err == nil && !isnil.Is(owner) && owner.GetUID() == ref.UID:
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
