// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// A step is a kind of run, and what a user does to it. There is a step for each
// case that the controller handles differently.
type step struct {
	name string
	spec func(*v1alpha1.AgentRunSpec)                                      // changes the run that succeeds; may be nil
	user func(ctx context.Context, w *world, run *v1alpha1.AgentRun) error // what a user does; may be nil
	// ends are the phase and the reason. Without them the run does not end.
	ends []string
	also func(ctx context.Context, w *world, run *v1alpha1.AgentRun) bool // a later effect; may be nil
}

var steps = []step{
	{name: "succeeds", ends: []string{"Succeeded JobSucceeded"}},
	{
		name: "lets-go", // of its Job, as soon as its result is recorded
		spec: func(s *v1alpha1.AgentRunSpec) { s.JobTTLSecondsAfterFinished = new(int32(0)) },
		ends: []string{"Succeeded JobSucceeded"}, also: jobGone,
	},
	{
		name: "fails",
		spec: func(s *v1alpha1.AgentRunSpec) { s.PodAnnotations[kubelet.OutcomeAnnotation] = kubelet.Fail },
		ends: []string{"Failed JobFailed"},
	},
	{
		name: "secret",
		spec: func(s *v1alpha1.AgentRunSpec) { s.SecretRef = &v1alpha1.SecretRef{Name: secretName, Key: secretKey} },
		ends: []string{"Succeeded JobSucceeded"},
	},
	{
		name: "cancelled", spec: never,
		user: func(ctx context.Context, w *world, run *v1alpha1.AgentRun) error {
			w.until(ctx, run, func(s suite.Seen) bool { return s.Phase == v1alpha1.Running })
			return suite.PatchSpec(ctx, w.Stage, run.Name, map[string]any{"cancel": true})
		},
		ends: []string{"Cancelled Cancelled"}, //nolint:dupword // phase and reason
		also: jobGone,
	},
	{
		name: "refused",
		spec: func(s *v1alpha1.AgentRunSpec) { s.Parameters = map[string]string{"prompt": "hello"} },
		ends: []string{"Failed InvalidSpec"},
		also: hasEvent(func(e corev1.Event) bool { return e.Reason == "InvalidSpec" }),
	},
	{
		name: "lost", spec: never, // a user deletes the Job
		user: func(ctx context.Context, w *world, run *v1alpha1.AgentRun) error {
			w.until(ctx, run, func(s suite.Seen) bool { return s.Phase == v1alpha1.Running })
			err := w.Kube.BatchV1().Jobs(w.Namespace).Delete(ctx, w.jobOf(ctx, run), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		},
		ends: []string{"Failed WorkflowJobMissing", "Failed JobFailed"}, // depends on what the controller sees first
	},
	{
		name: "resumed",
		spec: func(s *v1alpha1.AgentRunSpec) { s.Suspend = true },
		user: func(ctx context.Context, w *world, run *v1alpha1.AgentRun) error {
			w.until(ctx, run, func(s suite.Seen) bool { return s.Reason == "Suspended" })
			return suite.PatchSpec(ctx, w.Stage, run.Name, map[string]any{"suspend": false})
		},
		ends: []string{"Succeeded JobSucceeded"},
	},
	{
		name: "expires",
		spec: func(s *v1alpha1.AgentRunSpec) { s.TTLSecondsAfterFinished = new(int32(1)) },
		ends: []string{"Succeeded JobSucceeded"},
		also: func(ctx context.Context, w *world, run *v1alpha1.AgentRun) bool {
			_, err := w.Runs.Get(ctx, run.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		},
	},
	{
		name: "repeats", // the Event of a repeated failure becomes a series
		spec: func(s *v1alpha1.AgentRunSpec) { s.SecretRef = &v1alpha1.SecretRef{Name: "nowhere", Key: secretKey} },
		also: hasEvent(func(e corev1.Event) bool { return e.Series != nil || e.Count > 1 }),
	},
}

func never(s *v1alpha1.AgentRunSpec) { s.PodAnnotations[kubelet.OutcomeAnnotation] = kubelet.Never }

// jobOf returns the name of a run's Job, or "" if the status does not name it.
func (w *world) jobOf(ctx context.Context, run *v1alpha1.AgentRun) string {
	now, err := w.Runs.Get(ctx, run.Name, metav1.GetOptions{})
	if err != nil || now.Status.JobRef == nil {
		return ""
	}
	return now.Status.JobRef.Name
}

func jobGone(ctx context.Context, w *world, run *v1alpha1.AgentRun) bool {
	_, err := w.Kube.BatchV1().Jobs(w.Namespace).Get(ctx, w.jobOf(ctx, run), metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

func hasEvent(is func(corev1.Event) bool) func(context.Context, *world, *v1alpha1.AgentRun) bool {
	return func(ctx context.Context, w *world, run *v1alpha1.AgentRun) bool {
		events, err := w.Events(ctx, run.Name)
		return err == nil && slices.ContainsFunc(events, is)
	}
}

// play plays a step, until all of it has happened.
func (w *world) play(ctx context.Context, s step) error {
	run := play.NewRun(s.name)
	if s.spec != nil {
		s.spec(&run.Spec)
	}
	run, err := suite.Create(ctx, w.Stage, run)
	if err == nil && s.user != nil {
		err = s.user(ctx, w, run)
	}
	if err == nil && s.ends != nil {
		err = w.ended(ctx, run)
	}
	if err != nil {
		return err
	}
	for s.also != nil && !s.also(ctx, w, run) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		suite.Wait(ctx, 100*time.Millisecond)
	}
	seen := w.recorder.Run(run.UID)
	end := fmt.Sprintf("%s %s", seen.Phase, seen.Reason)
	if s.ends != nil && !slices.Contains(s.ends, end) {
		return fmt.Errorf("it ended as %s", end)
	}
	return nil
}

// until waits until the recorder has seen something of a run, or ctx ends.
func (w *world) until(ctx context.Context, run *v1alpha1.AgentRun, is func(suite.Seen) bool) {
	for !is(w.recorder.Run(run.UID)) && ctx.Err() == nil {
		suite.Wait(ctx, 20*time.Millisecond)
	}
}

// ended waits until the recorder has seen the end of a run.
func (w *world) ended(ctx context.Context, run *v1alpha1.AgentRun) error {
	w.until(ctx, run, func(s suite.Seen) bool { return s.Outcome != "" })
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("run %s has not ended: %w", run.Name, err)
	}
	return nil
}
