// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// seen is what was observed while Argo Rollouts was being installed, step by step.
var seen struct {
	once                      sync.Once
	err                       error
	availableAtFirst          error
	preflightAtFirst          error
	referencesAtFirst         field.ErrorList
	availableWithCRDs         error
	preflightWithCRDs         error
	stateWithoutAController   live.State
	messageWithoutAController string
}

// installed installs Argo Rollouts, once for all tests: first the CRDs, then the controller.
func installed(t *testing.T) {
	t.Helper()
	seen.once.Do(func() {
		s := clients(t, "default")
		probe := converted(t, "web:1", rollout.Options{})
		probe.Name = "probe"
		seen.availableAtFirst = live.Available(s.kube.Discovery())
		seen.preflightAtFirst = live.Preflight(t.Context(), s.rollouts, probe, manager)
		refers := probe.DeepCopy()
		refers.Namespace, refers.Spec.Strategy.Canary.Analysis = "default", map[string]any{"templates": []any{map[string]any{"templateName": "errors"}}}
		seen.referencesAtFirst = live.References(t.Context(), refers, reading(t, plane.Config()), "")
		if seen.err = plane.InstallArgoRollouts(t.Context()); seen.err != nil {
			return
		}
		seen.availableWithCRDs = live.Available(s.kube.Discovery())
		seen.preflightWithCRDs = live.Preflight(t.Context(), s.rollouts, probe, manager)
		s.apply(probe)
		seen.stateWithoutAController, seen.messageWithoutAController = live.Phase(s.get("probe"))
		seen.err = plane.ArgoRollouts.Start(t.Context())
	})
	require.NoError(t, seen.err)
}

// TestInstallation tells apart what the CRDs change and what the controller does.
func TestInstallation(t *testing.T) {
	installed(t)
	require.ErrorIs(t, seen.availableAtFirst, live.ErrNotInstalled)
	require.ErrorIs(t, seen.preflightAtFirst, live.ErrNotInstalled)
	require.Len(t, seen.referencesAtFirst, 1)
	assert.Contains(t, seen.referencesAtFirst[0].Error(), "Not found", "%v", seen.referencesAtFirst)
	assert.Contains(t, seen.referencesAtFirst[0].Detail, "does not serve this kind")
	require.NoError(t, seen.availableWithCRDs)
	require.NoError(t, seen.preflightWithCRDs)
	assert.Equal(t, live.NotObserved, seen.stateWithoutAController, "the CRD is not the controller")
	assert.Equal(t, "no controller has seen it", seen.messageWithoutAController)

	s := clients(t, "default")
	u := s.reaches("probe", live.Healthy)
	assert.EqualValues(t, 1, u.GetGeneration(), "and the controller takes it up")
	require.NoError(t, s.rollouts.Delete(t.Context(), "probe", metav1.DeleteOptions{}))
}

// TestPreflight asks the real API server.
func TestPreflight(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := converted(t, "web:1", rollout.Options{})
	require.NoError(t, live.Preflight(t.Context(), s.rollouts, r, manager))
	list, err := s.rollouts.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items, "nothing is stored")

	r.Spec.Template.Name = "dropped by the CRD"
	err = live.Preflight(t.Context(), s.rollouts, r, manager)
	require.ErrorContains(t, err, ".spec.template.metadata.name: field not declared in schema")
	require.NotErrorIs(t, err, live.ErrNotInstalled)

	nowhere := clients(t, "nowhere")
	r.Spec.Template.Name = ""
	err = live.Preflight(t.Context(), nowhere.rollouts, r, manager)
	require.Error(t, err)
	require.NotErrorIs(t, err, live.ErrNotInstalled, "a namespace that does not exist is another 404: %v", err)
}
