// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// notSeen are the rights of the role whose use no request of this suite shows.
var notSeen = []string{
	"create events.", // the core group is the fallback
	"patch events.",  // the same
	"update agentruns/finalizers.agents.controllerkit.dev", // an admission plugin asks for it
}

// TestEachVerbIsNeeded plays every sample of the demo, and two runs for what no
// sample shows, with the documented role. The stored objects are as the samples
// promise, no object, log line or pod has a secret, and each verb of the role
// is used.
//
//req:shows A1 E1 E5 E7 J3
func TestEachVerbIsNeeded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	w := newWorld(t)
	require.NoError(t, w.Restrict(ctx))
	w.start(t, w.config)
	samples, err := play.Load()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(samples), 8)
	var playing sync.WaitGroup
	for _, s := range samples {
		playing.Go(func() { w.playSample(ctx, t, s) })
	}
	playing.Go(func() { w.playExpiry(ctx, t) })
	playing.Go(func() { w.playSeries(ctx, t) })
	playing.Wait()
	assert.Empty(t, w.recorder.Breaches())
	w.silent(ctx, t)
	pods, err := plane.Admin.Run(ctx, nil, "--namespace="+w.Namespace, "get", "pods", "-o", "yaml")
	require.NoError(t, err)
	assert.NotContains(t, pods, firstSecret)

	doc, _, _ := bytes.Cut(rbac.YAML(), []byte("\n---\n"))
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict(doc, &role))
	require.NoError(t, w.process.Stop()) // a watch is logged when it ends
	assert.Equal(t, notSeen, suite.Unused(role.Rules, w.requests(t)))
}

// playSample plays a sample and compares the cluster with its promise.
func (w *world) playSample(ctx context.Context, t *testing.T, s *play.Sample) {
	t.Helper()
	if s.Secret != nil {
		assert.Equal(t, firstSecret, s.Secret.StringData["token"], "the secret that is looked for")
	}
	assert.NoError(t, s.Create(ctx, w.Stage), s.Title)
	assert.NoError(t, s.Play(ctx, w.Stage), s.Title)
	assert.Empty(t, s.Check(ctx, w.Stage), s.Title)
	run, err := w.Runs.Get(ctx, s.Run.Name, metav1.GetOptions{})
	if assert.NoError(t, err) {
		suite.AssertEnded(t, run)
	}
	described, _ := plane.Admin.Run(ctx, nil, "--namespace="+w.Namespace, "describe", "aruns", s.Run.Name)
	for _, reason := range s.Events {
		assert.Regexp(t, `(?m)^  (Warning|Normal) +`+reason+` `, described, "kubectl describe shows the event")
	}
}

// playExpiry plays a run that is deleted after its end.
func (w *world) playExpiry(ctx context.Context, t *testing.T) {
	t.Helper()
	run := play.NewRun("expires")
	run.Spec.TTLSecondsAfterFinished = new(int32(1))
	_, err := suite.Create(ctx, w.Stage, run)
	for err == nil {
		suite.Wait(ctx, 100*time.Millisecond)
		_, err = w.Runs.Get(ctx, run.Name, metav1.GetOptions{})
	}
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

// playSeries plays a run whose failure is repeated, so that its Event becomes a
// series.
func (w *world) playSeries(ctx context.Context, t *testing.T) {
	t.Helper()
	run := play.NewRun("repeats")
	run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "nowhere", Key: secretKey}
	_, err := suite.Create(ctx, w.Stage, run)
	repeated := func(e corev1.Event) bool { return e.Series != nil }
	var events []corev1.Event
	for err == nil && !slices.ContainsFunc(events, repeated) {
		suite.Wait(ctx, 100*time.Millisecond)
		events, err = w.Events(ctx, run.Name)
	}
	assert.NoError(t, err)
}
