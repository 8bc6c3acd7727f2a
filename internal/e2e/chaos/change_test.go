// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// TestTheNamespaceIsDeletedUnderLoad: the namespace is deleted with its
// objects. In a new namespace of that name, runs run again.
func TestTheNamespaceIsDeletedUnderLoad(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := newWorld(t)
	w.grantEverywhere(t)
	w.start(t, w.config)
	w.ready(ctx, t)
	for i := range either(60, 12) {
		if i == 6 {
			require.NoError(t, w.Kube.CoreV1().Namespaces().Delete(ctx, w.Namespace, metav1.DeleteOptions{}))
		}
		_, _ = w.Runs.Create(ctx, story(3+i), metav1.CreateOptions{}) // refused once the namespace is terminating
		wait(ctx, 100*time.Millisecond)
	}
	eventually(t, "the namespace is gone", func(ctx context.Context) bool {
		_, err := w.Kube.CoreV1().Namespaces().Get(ctx, w.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	w.idle(ctx, t)
	w.makeNamespace(t)
	require.NoError(t, load(ctx, w.Stage, 0, 11, 0))
	w.holds(ctx, t, 12)
}

// TestTheRightsAreRevokedAndGrantedAgain: without rights the controller can
// neither read nor write, and its log names the denied rights. Afterwards all
// runs end normally.
func TestTheRightsAreRevokedAndGrantedAgain(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	last := either(62, 20)
	w.during(ctx, t, last, 100*time.Millisecond, func() {
		wait(ctx, 500*time.Millisecond)
		require.NoError(t, w.Kube.RbacV1().RoleBindings(w.Namespace).Delete(ctx, w.user, metav1.DeleteOptions{}))
		eventually(t, "the log names the denied right", func(ctx context.Context) bool {
			between.cut() // a granted watch continues until its next request
			wait(ctx, 500*time.Millisecond)
			return says(t, w.process, "forbidden", w.user, "cannot list resource", "agentruns")
		})
		wait(ctx, either(20*time.Second, 0))
		w.grant(t, role)
	})
	w.holds(ctx, t, last+1)
}

// TestTheSecretIsRotated: runs wait while the Secret is missing. Neither its
// old nor its new value appears anywhere.
//
//req:shows E5
func TestTheSecretIsRotated(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	last := either(62, 14)
	w.during(ctx, t, last, 100*time.Millisecond, func() {
		secrets := w.Kube.CoreV1().Secrets(w.Namespace)
		wait(ctx, 300*time.Millisecond)
		require.NoError(t, secrets.Delete(ctx, secretName, metav1.DeleteOptions{}))
		eventually(t, "a run waits for the Secret", func(ctx context.Context) bool {
			list, err := w.Runs.List(ctx, metav1.ListOptions{})
			for _, run := range list.Items {
				if run.Status.Reason == "MissingSecret" {
					return true
				}
			}
			assert.NoError(t, err)
			return false
		})
		w.putSecret(t, secondSecret)
	})
	allEnded(ctx, t, w.Stage, last+1) // the controller has read the second value
	between.fail(20, firstSecret+" is not "+secondSecret)
	more := last + either(60, 9)
	require.NoError(t, load(ctx, w.Stage, last+1, more, 0))
	w.holds(ctx, t, more+1)
	assertSays(t, w.process, "injected", "reconcile failed")
}

// TestTheSecretIsMaskedAfterARestart: the run already has its Job, so the new
// process does not read the Secret before an error quotes it.
//
//req:shows E5
func TestTheSecretIsMaskedAfterARestart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := newWorld(t)
	w.grant(t, role)
	between, config := newProxy(t, w)
	w.start(t, config)
	run := story(0)
	run.Spec.PodAnnotations[outcome] = "never"
	require.NoError(t, create(ctx, w.Stage, run))
	status := func(ctx context.Context) v1alpha1.AgentRunStatus {
		run, err := w.Runs.Get(ctx, run.Name, metav1.GetOptions{})
		require.NoError(t, err)
		return run.Status
	}
	eventually(t, "the Job runs", func(ctx context.Context) bool { return status(ctx).Phase == v1alpha1.Running })
	require.NoError(t, w.process.Kill())
	between.failOnly("/jobs/", "env AGENT_SECRET="+firstSecret)
	w.start(t, config)
	_, err := w.Runs.Patch(ctx, run.Name, types.MergePatchType, specPatch(t, map[string]any{"suspend": true}), metav1.PatchOptions{})
	require.NoError(t, err)
	const masked = "AGENT_SECRET=[redacted]"
	eventually(t, "the condition reports it, masked", func(ctx context.Context) bool {
		return strings.Contains(status(ctx).Message, masked)
	})
	eventually(t, "an Event reports it, masked", func(ctx context.Context) bool {
		events, err := w.Events(ctx, run.Name)
		return err == nil && slices.ContainsFunc(events, func(e corev1.Event) bool { return strings.Contains(e.Message, masked) })
	})
	assertSays(t, w.process, "reconcile failed", masked)
	breaches, _, _ := w.recorder.read()
	assert.Empty(t, breaches)
	w.silent(ctx, t)
}
