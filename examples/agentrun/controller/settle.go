// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-logr/logr"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// settle does what is left to do for a terminal run: let its Job go, and delete the run when its time has come. It runs after every
// restart until it is done, from what status says alone.
func (a *attempt) settle(ctx context.Context) (time.Duration, error) {
	if err := a.letGo(ctx); err != nil {
		return 0, err
	}
	if err := a.commit(ctx); err != nil {
		return 0, err
	}
	return a.expire(ctx)
}

// letGo releases the Job of a run whose result is recorded, and deletes the Job of a cancelled one.
func (a *attempt) letGo(ctx context.Context) error {
	ref := a.run.Status.JobRef
	if ref == nil || ref.UID == "" || ref.Released {
		return nil
	}
	if a.run.Status.Phase == v1alpha1.Cancelled {
		err := a.cluster.BatchV1().Jobs(a.run.Namespace).Delete(ctx, ref.Name, metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: &ref.UID},
			PropagationPolicy: new(metav1.DeletePropagationBackground),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // a conflict: the name is another Job's by now
			return err
		}
		ref.Released = true
		return nil
	}
	if ref.Outcome == "" {
		return nil // lost: there is nothing to let go
	}
	finding, err := a.scope.guard.Look(ctx, *ref)
	if err != nil {
		return err
	}
	retention, err := a.options.Retention.For(a.run.Spec.JobTTLSecondsAfterFinished)
	if err != nil {
		return err
	}
	if err := a.scope.guard.Release(ctx, *ref, finding, retention); err != nil {
		return err
	}
	ref.Released = true
	return nil
}

// expire deletes a run that is past its retention, or says when it will be.
func (a *attempt) expire(ctx context.Context) (time.Duration, error) {
	run := a.run
	expired, left := a.options.Retention.Expired(run, value(run.Status.FinishedAt).Time, run.Spec.TTLSecondsAfterFinished, time.Now())
	if !expired {
		return left, nil
	}
	err := a.runs(run.Namespace).Delete(ctx, run.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &run.UID, ResourceVersion: &run.ResourceVersion},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	if err == nil {
		logr.FromContextOrDiscard(ctx).Info("run deleted: past its retention")
	}
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	return 0, err
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
