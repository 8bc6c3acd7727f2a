// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// seen has the observations while Argo Rollouts was being installed, step by
// step.
var seen struct {
	once                      sync.Once
	err                       error
	availableAtFirst          error
	preflightAtFirst          error
	referencesAtFirst         field.ErrorList
	availableWithCRDs         error
	preflightWithCRDs         error
	stateWithoutAController   live.Phase
	messageWithoutAController string
}

// installed installs Argo Rollouts, once for all tests: first the CRDs, then
// the controller.
func installed(t *testing.T) {
	t.Helper()
	seen.once.Do(func() {
		s := clients(t, "default")
		probe := converted(t, "web:1", rollout.Options{})
		probe.Name = "probe"
		seen.availableAtFirst = live.Available(s.kube.Discovery())
		seen.preflightAtFirst = live.Preflight(t.Context(), s.rollouts, s.templates, probe, manager)
		refers := probe.DeepCopy()
		refers.Namespace, refers.Spec.Strategy.Canary.Analysis = "default", map[string]any{"templates": []any{map[string]any{"templateName": "errors"}}}
		seen.referencesAtFirst = live.References(t.Context(), refers, reading(t, plane.Config()), "")
		if seen.err = plane.InstallArgoRollouts(t.Context()); seen.err != nil {
			return
		}
		seen.availableWithCRDs = live.Available(s.kube.Discovery())
		seen.preflightWithCRDs = live.Preflight(t.Context(), s.rollouts, s.templates, probe, manager)
		s.apply(probe)
		seen.stateWithoutAController, seen.messageWithoutAController = live.PhaseOf(s.get("probe"))
		seen.err = plane.ArgoRollouts.Start(t.Context())
	})
	require.NoError(t, seen.err)
}

// TestInstallation tells apart what the CRDs change and what the controller
// does.
//
//req:shows R4
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
	require.NoError(t, live.Preflight(t.Context(), s.rollouts, s.templates, r, manager))
	list, err := s.rollouts.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items, "nothing is stored")

	r.Spec.Template.Name = "dropped by the CRD"
	err = live.Preflight(t.Context(), s.rollouts, s.templates, r, manager)
	require.ErrorContains(t, err, ".spec.template.metadata.name: field not declared in schema")
	require.NotErrorIs(t, err, live.ErrNotInstalled)

	nowhere := clients(t, "nowhere")
	r.Spec.Template.Name = ""
	err = live.Preflight(t.Context(), nowhere.rollouts, nowhere.templates, r, manager)
	require.Error(t, err)
	require.NotErrorIs(t, err, live.ErrNotInstalled, "a namespace that does not exist is another 404: %v", err)
}

// TestPreflight_FindsMistakesInThePodTemplate that the CRD lets pass. The
// server judges them as it does for a Deployment.
//
//req:shows R3
func TestPreflight_FindsMistakesInThePodTemplate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := func(change func(c *corev1.Container)) func(p *corev1.PodSpec) {
		return func(p *corev1.PodSpec) { change(&p.Containers[0]) }
	}
	cases := map[string]func(p *corev1.PodSpec){
		"containers[0].name":     first(func(c *corev1.Container) { c.Name = "Web_1" }),
		"containers[1].name":     func(p *corev1.PodSpec) { p.Containers = append(p.Containers, p.Containers[0]) },
		"initContainers[0].name": func(p *corev1.PodSpec) { p.InitContainers = []corev1.Container{p.Containers[0]} },
		"containers[0].ports[0].containerPort": first(func(c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 65536}}
		}),
		"containers[0].ports[1].name": first(func(c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{Name: "a", ContainerPort: 1}, {Name: "a", ContainerPort: 2}}
		}),
		"containers[0].ports[0].protocol": first(func(c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 1, Protocol: "tcp"}}
		}),
		"containers[0].env[0].name": first(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "A=B"}} }),
		"containers[0].env[0].valueFrom": first(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "A", Value: "x", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
		}),
		"containers[0].volumeMounts[0].name": first(func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
		}),
		"containers[0].resources.requests": first(func(c *corev1.Container) {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}),
		"containers[0].imagePullPolicy": first(func(c *corev1.Container) { c.ImagePullPolicy = "Sometimes" }),
		"containers[0].livenessProbe": first(func(c *corev1.Container) {
			c.LivenessProbe = &corev1.Probe{}
		}),
		"volumes[0].name": func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "V", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		},
		"serviceAccountName": func(p *corev1.PodSpec) { p.ServiceAccountName = "A b" },
		"dnsPolicy":          func(p *corev1.PodSpec) { p.DNSPolicy = "Some" },
		"tolerations[0]":     func(p *corev1.PodSpec) { p.Tolerations = []corev1.Toleration{{Operator: "Foo"}} },
		"topologySpreadConstraints[0].topologyKey": func(p *corev1.PodSpec) {
			p.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule}}
		},
		"nodeSelector": func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"a b": "c"} },
	}
	for path, change := range cases {
		t.Run(path, func(t *testing.T) {
			r := converted(t, "web:1", rollout.Options{})
			change(&r.Spec.Template.Spec)
			require.ErrorContains(t, live.Preflight(t.Context(), s.rollouts, s.templates, r, manager), "template.spec."+path)
		})
	}
	list, err := s.templates.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items, "nothing is stored")
}
