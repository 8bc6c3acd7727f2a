// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
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
		require.ErrorIs(t, live.Available(s.kube.Discovery()), live.ErrNotInstalled)
		require.ErrorIs(t, live.Preflight(t.Context(), s.rollouts, s.templates, probe, manager), live.ErrNotInstalled)
		refers := probe.DeepCopy()
		refers.Namespace, refers.Spec.Strategy.Canary.Analysis = "default", map[string]any{"templates": []any{map[string]any{"templateName": "errors"}}}
		errs := live.References(t.Context(), refers, get, "")
		require.Len(t, errs, 1)
		assert.Contains(t, errs[0].Error(), "Not found")
		assert.Contains(t, errs[0].Detail, "does not serve this kind")

		require.NoError(t, plane.InstallArgoRollouts(t.Context()))
		require.NoError(t, live.Available(s.kube.Discovery()))
		require.NoError(t, live.Preflight(t.Context(), s.rollouts, s.templates, probe, manager))
		s.apply(probe)
		phase, message := live.PhaseOf(s.get("probe"))
		assert.Equal(t, live.NotObserved, phase, "the CRD is not the controller")
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
	u := s.reaches("probe", live.Healthy)
	assert.EqualValues(t, 1, u.GetGeneration(), "and the controller takes it up")
	require.NoError(t, s.rollouts.Delete(t.Context(), "probe", metav1.DeleteOptions{}))
}

// TestPreflight asks the real API server, which judges the pod template as it
// does for a Deployment. The CRD lets such mistakes pass.
//
//req:shows R3
func TestPreflight(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	preflight := func(s *stage, change func(*corev1.PodTemplateSpec)) error {
		r := converted(t, "web:1", rollout.Options{})
		change(r.Spec.Template)
		return live.Preflight(t.Context(), s.rollouts, s.templates, r, manager)
	}
	right := func(*corev1.PodTemplateSpec) {}
	require.NoError(t, preflight(s, right))
	cases := map[string]func(p *corev1.PodTemplateSpec){
		".spec.template.metadata.name: field not declared in schema": func(p *corev1.PodTemplateSpec) { p.Name = "dropped by the CRD" },
		"template.spec.containers[1].name": func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
		},
		"template.spec.tolerations[0]": func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations = []corev1.Toleration{{Operator: "Foo"}} },
	}
	for want, change := range cases {
		err := preflight(s, change)
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, live.ErrNotInstalled)
	}
	assert.Empty(t, s.kubectl("get rollouts,podtemplates -o name"), "nothing is stored")

	err := preflight(clients(t, "nowhere"), right)
	require.Error(t, err)
	require.NotErrorIs(t, err, live.ErrNotInstalled, "a namespace that does not exist is another 404: %v", err)
}
