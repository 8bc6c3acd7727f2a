// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/hold"
	"github.com/proompteng/controllerkit/status"
)

// settle does what is left to do for a terminal run: let its Job go. It runs after every restart, from what status and Job say alone,
// and makes no request once it is done. When the run's own time is over, package expire deletes it.
func (a *attempt) settle(ctx context.Context) (time.Duration, error) {
	if err := a.commit(ctx); err != nil { // the generation, if somebody edited the run
		return 0, err
	}
	ref := a.run.Status.JobRef
	if ref == nil || ref.UID == "" || ref.Released {
		return 0, nil
	}
	cancelled := a.run.Status.Phase == v1alpha1.Cancelled
	if ref.Outcome == "" && !cancelled && !a.options.Hold {
		return 0, nil // lost: there is nothing to let go
	}
	finding, err := a.scope.guard.Look(ctx, *ref)
	if err != nil {
		return 0, err
	}
	if finding.State == jobgc.Pending {
		return finding.After, nil
	}
	if cancelled {
		return 0, a.discard(ctx, finding)
	}
	retention, err := a.options.Retention.For(a.run.Spec.JobTTLSecondsAfterFinished)
	if err != nil {
		return 0, err
	}
	let := *ref
	if let.Outcome == "" {
		let.Outcome = finding.Outcome // held while it was deleted, and finished after it was given up for lost
	}
	return 0, a.scope.guard.Release(ctx, let, finding, retention)
}

// discard deletes the Job of a cancelled run, held or not.
func (a *attempt) discard(ctx context.Context, finding jobgc.Finding) error {
	ref, jobs := a.run.Status.JobRef, a.cluster.BatchV1().Jobs(a.run.Namespace)
	if job := finding.Job; job != nil && a.options.Hold {
		if err := hold.Drop(ctx, jobs, job, HoldFinalizer); err != nil {
			return err
		}
	}
	err := jobs.Delete(ctx, ref.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &ref.UID},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	if err != nil && !absent(err) && !apierrors.IsConflict(err) { // a conflict: the name is another Job's by now
		return err
	}
	ref.Released = true
	return a.commit(ctx)
}

// abandon lets go what is held for a run that is gone, or going: nobody will record those results.
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
		// The cache of runs may be behind that of Jobs. A list needs no right that this controller does not have.
		live, err := c.runs(key.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + key.Name})
		if err != nil {
			return err
		}
		if len(live.Items) > 0 && metav1.IsControlledBy(job, &live.Items[0]) && live.Items[0].DeletionTimestamp == nil {
			continue
		}
		if err := hold.Drop(ctx, c.cluster.BatchV1().Jobs(key.Namespace), job, HoldFinalizer); err != nil {
			return err
		}
	}
	return nil
}

// suspendPatch sets a Job's suspend, if it is still the Job with that uid.
func suspendPatch(uid types.UID, suspend bool) ([]byte, error) {
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "add", "path": "/spec/suspend", "value": suspend},
	})
}

// isOvertaken reports whether err says that the run was changed by somebody else since it was read.
func isOvertaken(err error) bool {
	return errors.Is(err, status.ErrSuperseded) || errors.Is(err, status.ErrReplaced) || errors.Is(err, status.ErrOverlap)
}
