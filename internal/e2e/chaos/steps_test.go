// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// A step is a run, and what a user does to it. There is a step for each case
// that the controller handles differently.
const (
	succeeds = "succeeds"
	letsGo   = "lets-go" // of its Job, as soon as its result is recorded
	fails    = "fails"
	secretly = "secret"
	cancels  = "cancelled"
	refused  = "refused"
	lost     = "lost" // a user deletes the Job
	resumed  = "resumed"
)

var steps = []string{succeeds, letsGo, fails, secretly, cancels, refused, lost, resumed}

// step is the i-th run.
func step(i int) *v1alpha1.AgentRun {
	kind := steps[i%len(steps)]
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("run-%05d", i), Labels: map[string]string{"step": kind}}}
	run.Spec.Image = "busybox:1.37"
	run.Spec.PodAnnotations = map[string]string{delay: "200ms"}
	switch kind {
	case letsGo:
		run.Spec.JobTTLSecondsAfterFinished = new(int32(0))
	case fails:
		run.Spec.PodAnnotations[outcome] = "fail"
	case secretly:
		run.Spec.SecretRef = &v1alpha1.SecretRef{Name: secretName, Key: secretKey}
	case cancels, lost:
		run.Spec.PodAnnotations[outcome] = "never"
	case refused:
		run.Spec.Parameters = map[string]string{"prompt": "hello"}
	case resumed:
		run.Spec.Suspend = true
	}
	return run
}

// play creates a run, plays its step, and returns when the run has ended.
func (w *world) play(ctx context.Context, run *v1alpha1.AgentRun) error {
	kind := run.Labels["step"]
	run, err := w.Runs.Create(ctx, run, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	seen := func(what string, is func(v1alpha1.Phase) bool) error {
		for !is(w.recorder.phase(run.UID)) {
			if ctx.Err() != nil {
				return fmt.Errorf("run %s never %s", run.Name, what)
			}
			wait(ctx, 20*time.Millisecond)
		}
		return nil
	}
	running := func(p v1alpha1.Phase) bool { return p == v1alpha1.Running }
	switch kind {
	case cancels:
		if err = seen("ran", running); err == nil {
			err = w.change(ctx, run.Name, map[string]any{"cancel": true})
		}
	case lost:
		if err = seen("ran", running); err == nil {
			err = w.deleteJob(ctx, run.Name)
		}
	case resumed:
		wait(ctx, 500*time.Millisecond)
		err = w.change(ctx, run.Name, map[string]any{"suspend": false})
	}
	if err != nil {
		return err
	}
	return seen("ended", func(p v1alpha1.Phase) bool { return p.Progress() == status.Done })
}

// change patches a run's spec.
func (w *world) change(ctx context.Context, name string, spec map[string]any) error {
	body, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err
	}
	_, err = w.Runs.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// deleteJob deletes a run's Job, like a user who cleans up.
func (w *world) deleteJob(ctx context.Context, name string) error {
	run, err := w.Runs.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	err = w.Kube.BatchV1().Jobs(w.Namespace).Delete(ctx, run.Status.JobRef.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// assertTrue checks that a run ended as its step says and as its Job ended,
// which the recorder saw.
func (w *world) assertTrue(t *testing.T, run *v1alpha1.AgentRun) {
	t.Helper()
	st, end := run.Status, w.recorder.end(run.UID)
	told := fmt.Sprintf("run %s (%s): %s %s %s; its Job ended as %q", run.Name, run.Labels["step"], st.Phase, st.Reason, st.Message, end)
	want := map[string][]string{ // phase, reason, and how the Job ended
		succeeds: {"Succeeded JobSucceeded Complete"},
		letsGo:   {"Succeeded JobSucceeded Complete"},
		fails:    {"Failed JobFailed Failed"},
		secretly: {"Succeeded JobSucceeded Complete"},
		cancels:  {"Cancelled Cancelled ", "Cancelled Cancelled Failed"}, //nolint:dupword // phase and reason; its pod ends when the Job is deleted
		refused:  {"Failed InvalidSpec "},
		lost:     {"Failed WorkflowJobMissing ", "Failed WorkflowJobMissing Failed", "Failed JobFailed Failed"}, // depends on what the controller sees first
		resumed:  {"Succeeded JobSucceeded Complete"},
	}[run.Labels["step"]]
	assert.True(t, slices.Contains(want, fmt.Sprintf("%s %s %s", st.Phase, st.Reason, end)), told)
	assert.Equal(t, run.Generation, st.ObservedGeneration, told)
	assert.NotNil(t, st.FinishedAt, told)
	assert.Equal(t, run.Labels["step"] != refused, st.StartedAt != nil, told)
}
