// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/rollout"
)

// install is what all tests share.
var install struct {
	once sync.Once
	done bool
}

// installed installs Argo Rollouts, once for all tests: first the CRDs, then
// the controller. It tells apart what each of them changes.
func installed(t *testing.T) {
	t.Helper()
	install.once.Do(func() {
		s := clients(t, "default")
		probe := converted(t, "web:1", rollout.Options{})
		probe.Name = "probe"
		require.ErrorIs(t, rollout.Available(s.kube.Discovery()), rollout.ErrNotInstalled)

		require.NoError(t, plane.InstallArgoRollouts(t.Context()))
		require.NoError(t, rollout.Available(s.kube.Discovery()))
		s.apply(probe)
		phase, message := rollout.PhaseOf(s.get("probe"), 0)
		assert.Equal(t, rollout.NotObserved, phase, "the CRD is not the controller")
		assert.Equal(t, "no controller has seen it", message)

		require.NoError(t, plane.ArgoRollouts.Start(t.Context()))
		install.done = true
	})
	require.True(t, install.done, "the first test has not installed it")
}

// TestInstallation runs before all others, because it is not parallel.
//
//req:shows R4
func TestInstallation(t *testing.T) {
	installed(t)
	s := clients(t, "default")
	u := s.reaches("probe", rollout.Healthy)
	assert.EqualValues(t, 1, u.GetGeneration(), "and the controller takes it up")
	require.NoError(t, s.rollouts.Delete(t.Context(), "probe", metav1.DeleteOptions{}))
}
