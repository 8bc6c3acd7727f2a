// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/status"
)

// ended waits until at least n runs are terminal or the deadline passes, and
// returns all runs.
func (w *world) ended(ctx context.Context, n int, latest time.Time) ([]v1alpha1.AgentRun, error) {
	for {
		list, err := w.Runs.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err == nil && (terminal(list.Items) >= n || time.Now().After(latest)) {
			return list.Items, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// A list of thousands loads the server.
		pause(ctx, 100*time.Millisecond+time.Duration(n)*time.Millisecond/2)
	}
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

// told waits until all failed runs have an Event or the deadline passes, and
// returns how many have none.
func (w *world) told(
	ctx context.Context, runs []v1alpha1.AgentRun, latest time.Time,
) (silent int, err error) {
	for {
		events, err := w.Kube.EventsV1().Events(w.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
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
		if silent == 0 || time.Now().After(latest) {
			return silent, nil
		}
		pause(ctx, 200*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
