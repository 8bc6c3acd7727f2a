// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proompteng/controllerkit/status"
)

func setStatusBefore(ctx context.Context, c client.Client, run *Run, phase string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live := new(Run)
		if err := c.Get(ctx, client.ObjectKeyFromObject(run), live); err != nil {
			return client.IgnoreNotFound(err)
		}
		now := metav1.Now()
		live.Status.Phase = phase
		live.Status.ObservedGeneration = live.Generation
		live.Status.UpdatedAt = &now
		if phase == "Running" && live.Status.StartedAt == nil {
			live.Status.StartedAt = &now
		}
		if phase == "Succeeded" || phase == "Failed" {
			live.Status.FinishedAt = &now
		}
		return c.Status().Update(ctx, live)
	})
}

// newStatusWriter is called once, where main makes the reconciler.
func newStatusWriter(c client.Client) status.Writer {
	return status.ForClient(c)
}

func setStatusAfter(ctx context.Context, w status.Writer, run *Run, phase string) error {
	before := run.DeepCopy()
	run.Status.Phase = phase
	_, err := w.Commit(ctx, before, run, status.Facts{Progress: progress(phase)})
	return err
}

// setStatusOfCached is setStatusAfter for a run that belongs to a cache.
func setStatusOfCached(ctx context.Context, w status.Writer, cached *Run, phase string) error {
	after := cached.DeepCopy()
	after.Status.Phase = phase
	_, err := w.Commit(ctx, cached, after, status.Facts{Progress: progress(phase)})
	return err
}

// progress is what a phase means.
func progress(phase string) status.Progress {
	switch phase {
	case "Running":
		return status.Running
	case "Succeeded", "Failed":
		return status.Done
	}
	return status.Waiting
}
