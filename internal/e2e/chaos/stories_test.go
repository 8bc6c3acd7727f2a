// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// stories are the things that a controller does for a run, with the user's
// part. A story returns false if it does not happen before its context ends.
func (w *world) stories(t *testing.T) map[string]func(ctx context.Context) bool {
	t.Helper()
	never := map[string]string{outcome: "never"}
	is := func(ctx context.Context, name string, phase v1alpha1.Phase) bool {
		return until(ctx, func() bool {
			run, err := w.Runs.Get(ctx, name, metav1.GetOptions{})
			return err == nil && run.Status.Phase == phase
		})
	}
	begin := func(ctx context.Context, name string, set func(*v1alpha1.AgentRunSpec)) bool {
		run := story(3)
		run.Name = name
		set(&run.Spec)
		return create(ctx, w.Stage, run) == nil
	}
	job := func(ctx context.Context, name string) string {
		run, err := w.Runs.Get(ctx, name, metav1.GetOptions{})
		if err != nil || run.Status.JobRef == nil {
			return ""
		}
		return run.Status.JobRef.Name
	}
	jobGone := func(ctx context.Context, name string) bool {
		return until(ctx, func() bool {
			_, err := w.Kube.BatchV1().Jobs(w.Namespace).Get(ctx, job(ctx, name), metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	change := func(ctx context.Context, name string, spec map[string]any) bool {
		_, err := w.Runs.Patch(ctx, name, types.MergePatchType, specPatch(t, spec), metav1.PatchOptions{})
		return err == nil
	}
	all := map[string]func(ctx context.Context) bool{
		"succeeds": func(ctx context.Context) bool {
			return begin(ctx, "succeeds", func(*v1alpha1.AgentRunSpec) {}) && is(ctx, "succeeds", v1alpha1.Succeeded)
		},
		"fails": func(ctx context.Context) bool {
			return begin(ctx, "fails", func(s *v1alpha1.AgentRunSpec) { s.PodAnnotations[outcome] = "fail" }) && is(ctx, "fails", v1alpha1.Failed)
		},
		"refused": func(ctx context.Context) bool { // that it is not accepted
			return begin(ctx, "refused", func(s *v1alpha1.AgentRunSpec) { s.Parameters = map[string]string{"prompt": "x"} }) &&
				until(ctx, func() bool {
					events, err := w.Events(ctx, "refused")
					return err == nil && slices.ContainsFunc(events, func(e corev1.Event) bool { return e.Reason == "InvalidSpec" })
				})
		},
		"waits": func(ctx context.Context) bool { // for a Secret, which is there
			return begin(ctx, "waits", func(s *v1alpha1.AgentRunSpec) { s.SecretRef = &v1alpha1.SecretRef{Name: secretName, Key: secretKey} }) &&
				is(ctx, "waits", v1alpha1.Succeeded)
		},
		"cancelled": func(ctx context.Context) bool { // and its Job ends
			return begin(ctx, "cancelled", func(s *v1alpha1.AgentRunSpec) { s.PodAnnotations = never }) &&
				is(ctx, "cancelled", v1alpha1.Running) && change(ctx, "cancelled", map[string]any{"cancel": true}) &&
				is(ctx, "cancelled", v1alpha1.Cancelled) && jobGone(ctx, "cancelled")
		},
		"resumed": func(ctx context.Context) bool {
			return begin(ctx, "resumed", func(s *v1alpha1.AgentRunSpec) { s.Suspend = true }) &&
				until(ctx, func() bool {
					run, err := w.Runs.Get(ctx, "resumed", metav1.GetOptions{})
					return err == nil && run.Status.Reason == "Suspended"
				}) && change(ctx, "resumed", map[string]any{"suspend": false}) && is(ctx, "resumed", v1alpha1.Succeeded)
		},
		"let go": func(ctx context.Context) bool {
			if !begin(ctx, "let-go", func(s *v1alpha1.AgentRunSpec) { s.JobTTLSecondsAfterFinished = new(int32(0)) }) {
				return false
			}
			return is(ctx, "let-go", v1alpha1.Succeeded) && jobGone(ctx, "let-go")
		},
		"expires": func(ctx context.Context) bool {
			return begin(ctx, "expires", func(s *v1alpha1.AgentRunSpec) { s.TTLSecondsAfterFinished = new(int32(1)) }) &&
				until(ctx, func() bool {
					_, err := w.Runs.Get(ctx, "expires", metav1.GetOptions{})
					return apierrors.IsNotFound(err)
				})
		},
		"lost": func(ctx context.Context) bool { // a user deletes the Job
			return begin(ctx, "lost", func(s *v1alpha1.AgentRunSpec) { s.PodAnnotations = never }) && is(ctx, "lost", v1alpha1.Running) &&
				w.Kube.BatchV1().Jobs(w.Namespace).Delete(ctx, job(ctx, "lost"), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}) == nil &&
				is(ctx, "lost", v1alpha1.Failed)
		},
		"repeats": func(ctx context.Context) bool { // the Event of a repeated failure becomes a series
			return begin(ctx, "repeats", func(s *v1alpha1.AgentRunSpec) { s.SecretRef = &v1alpha1.SecretRef{Name: "nowhere", Key: secretKey} }) &&
				until(ctx, func() bool {
					events, err := w.Events(ctx, "repeats")
					return err == nil && slices.ContainsFunc(events, func(e corev1.Event) bool { return e.Series != nil || e.Count > 1 })
				})
		},
	}
	if !*full { // both take more than ten seconds
		delete(all, "expires")
		delete(all, "repeats")
	}
	return all
}

// playAll plays all stories concurrently and returns which happened. Stories
// that should fail have until the others are done, and some more time.
func (w *world) playAll(ctx context.Context, t *testing.T, breaks []string) map[string]bool {
	t.Helper()
	stories := w.stories(t)
	broken, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var mu sync.Mutex
	var sound, unsound sync.WaitGroup
	results := map[string]bool{}
	for name, play := range stories {
		with, group := ctx, &sound
		if slices.Contains(breaks, name) {
			with, group = broken, &unsound
		}
		group.Go(func() {
			works := play(with)
			mu.Lock()
			defer mu.Unlock()
			results[name] = works
		})
	}
	sound.Wait()
	wait(ctx, either(8*time.Second, 2*time.Second))
	giveUp()
	unsound.Wait()
	require.Len(t, results, len(stories))
	return results
}

// until reports whether a condition becomes true before ctx ends.
func until(ctx context.Context, is func() bool) bool {
	for !is() {
		if ctx.Err() != nil {
			return false
		}
		wait(ctx, 100*time.Millisecond)
	}
	return ctx.Err() == nil
}
