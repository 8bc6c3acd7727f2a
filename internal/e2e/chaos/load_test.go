// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/status"
)

// The annotations for the fake kubelet.
const (
	outcome = "controlplane.controllerkit.dev/outcome"
	delay   = "controlplane.controllerkit.dev/delay"
)

// story returns the i-th run of a load. A third release their Job as soon as
// its result is recorded, a third fail, and every second one needs the Secret.
func story(i int) *v1alpha1.AgentRun {
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("run-%03d", i)}}
	run.Spec.Image = "busybox:1.37"
	run.Spec.PodAnnotations = map[string]string{delay: "200ms"}
	switch i % 3 {
	case 1:
		run.Spec.JobTTLSecondsAfterFinished = new(int32(0))
	case 2:
		run.Spec.PodAnnotations[outcome] = "fail"
	}
	if i%2 == 0 {
		run.Spec.SecretRef = &v1alpha1.SecretRef{Name: secretName, Key: secretKey}
	}
	return run
}

// truth returns how a run of story ends. Its annotations tell the fake kubelet
// how to end its pod.
func truth(run *v1alpha1.AgentRun) v1alpha1.Phase {
	if run.Spec.PodAnnotations[outcome] == "fail" {
		return v1alpha1.Failed
	}
	return v1alpha1.Succeeded
}

// create creates a run, and retries while the API server fails.
func create(ctx context.Context, stage *play.Stage, run *v1alpha1.AgentRun) error {
	for {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := stage.Runs.Create(once, run, metav1.CreateOptions{})
		cancel()
		if err == nil || apierrors.IsAlreadyExists(err) { // the answer of an earlier attempt was lost
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("create %s: %w", run.Name, err)
		}
		wait(ctx, 100*time.Millisecond)
	}
}

// load creates the runs from first to last, with a pause after each.
func load(ctx context.Context, stage *play.Stage, first, last int, pause time.Duration) error {
	for i := first; i <= last; i++ {
		if err := create(ctx, stage, story(i)); err != nil {
			return err
		}
		wait(ctx, pause)
	}
	return nil
}

// allEnded waits until n runs of a stage are terminal, and returns all runs.
func allEnded(ctx context.Context, t *testing.T, stage *play.Stage, n int) (runs []v1alpha1.AgentRun) {
	t.Helper()
	for {
		var left []string
		list, err := stage.Runs.List(ctx, metav1.ListOptions{})
		if err == nil {
			for _, run := range list.Items {
				if run.Status.Phase.Progress() != status.Done {
					left = append(left, fmt.Sprintf("%s %s/%s %s", run.Name, run.Status.Phase, run.Status.Reason, run.Status.Message))
				}
			}
			if len(left) == 0 && len(list.Items) == n {
				return list.Items
			}
		}
		require.NoError(t, ctx.Err(), "%d runs, %v; not ended are: %q", n, err, left)
		wait(ctx, 100*time.Millisecond)
	}
}

// eventually waits for at most a minute until what becomes true.
func eventually(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is(ctx) {
		require.NoError(t, ctx.Err(), "waiting until %s", what)
		wait(ctx, 50*time.Millisecond)
	}
}

// wait sleeps for d of real time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
