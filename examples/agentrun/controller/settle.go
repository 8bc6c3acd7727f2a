// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/jobgc/hold"
	"github.com/proompteng/controllerkit/status"
)

// settle does what is left to do for a terminal run: its Job is released, or
// deleted if the run was cancelled. It runs after every restart, and makes no
// request once it is done. When the run's own time is over, package expire
// deletes it.
func (a *attempt) settle(ctx context.Context) (time.Duration, error) {
	ref, found, err := a.scope.guard.Step(ctx, a.request(ctx))
	if err == nil {
		a.run.Status.JobRef = ref
	}
	return found.After, errors.Join(a.commit(ctx), err) // the generation, if somebody edited the run
}

// abandon lets go what is held for a run that is gone, or going: nobody will
// record those results.
func (c *Controller) abandon(ctx context.Context, s *scope, key types.NamespacedName) error {
	if !c.options.Hold {
		return nil
	}
	jobs, err := s.jobs.GetIndexer().ByIndex(byRun, key.String())
	if err != nil {
		return err
	}
	for _, obj := range jobs {
		job, ok := obj.(*batchv1.Job)
		if !ok || !slices.Contains(job.Finalizers, HoldFinalizer) {
			continue
		}
		// The cache of runs may be behind that of Jobs. A list needs no right
		// that this controller does not have.
		live, err := c.runs(key.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + key.Name})
		if err != nil {
			return err
		}
		if len(live.Items) > 0 && metav1.IsControlledBy(job, &live.Items[0]) && live.Items[0].DeletionTimestamp == nil {
			continue
		}
		if err := hold.RemoveFinalizer(ctx, c.cluster.BatchV1().Jobs(key.Namespace), job, HoldFinalizer); err != nil {
			return err
		}
	}
	return nil
}

// isOvertaken reports whether err says that the run was changed by somebody
// else since it was read.
func isOvertaken(err error) bool {
	return errors.Is(err, status.ErrSuperseded) || errors.Is(err, status.ErrReplaced) || errors.Is(err, status.ErrFieldConflict)
}
