// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/status"
)

// within asks until it is done or the time has passed, which is no error.
func within(ctx context.Context, every, limit time.Duration, done func() (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, every, limit, true, func(context.Context) (bool, error) {
		return done()
	})
	if wait.Interrupted(err) {
		return ctx.Err()
	}
	return err
}

// ended waits until at least n runs are terminal or the time has passed, and
// returns all runs.
func (w *world) ended(
	ctx context.Context, n int, limit time.Duration,
) (all []v1alpha1.AgentRun, err error) {
	// A list of thousands loads the server.
	pause := 100*time.Millisecond + time.Duration(n)*time.Millisecond/2
	err = within(ctx, pause, limit, func() (bool, error) {
		list, err := w.Runs.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, nil //nolint:nilerr // the API server is killed in that time
		}
		all = list.Items
		return terminal(all) >= n, nil
	})
	return all, err
}

// terminal counts the runs that have ended.
func terminal(runs []v1alpha1.AgentRun) (n int) {
	for _, run := range runs {
		if run.Status.Phase.Progress() == status.Done {
			n++
		}
	}
	return n
}

// withoutEvent waits until all failed runs have an Event or the time has passed,
// and returns how many have none.
func (w *world) withoutEvent(
	ctx context.Context, runs []v1alpha1.AgentRun, limit time.Duration,
) (silent int, err error) {
	err = within(ctx, 200*time.Millisecond, limit, func() (bool, error) {
		events, err := w.Kube.EventsV1().Events(w.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		about := map[types.UID]bool{}
		for _, e := range events.Items {
			about[e.Regarding.UID] = true
		}
		silent = 0
		for _, run := range runs {
			if play.Truth(&run) == v1alpha1.Failed && !about[run.UID] {
				silent++
			}
		}
		return silent == 0, nil
	})
	return silent, err
}

// released waits until each Job has a TTL or is being deleted, or the time has
// passed.
func (w *world) released(ctx context.Context, limit time.Duration) error {
	return within(ctx, 200*time.Millisecond, limit, func() (bool, error) {
		jobs, err := w.Kube.BatchV1().Jobs(w.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(jobs.Items, isHeld), nil
	})
}

func isHeld(job batchv1.Job) bool {
	return job.DeletionTimestamp == nil && job.Spec.TTLSecondsAfterFinished == nil
}
