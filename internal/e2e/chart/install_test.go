// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// TestInstalledItWorks: helm installs the chart on a real API server; the
// program of the image, with the arguments and variables of the rendered pods
// and the token of their account, brings AgentRuns to their ends; of two
// replicas one leads, and the other takes over. The account is refused nothing.
// An upgrade without a change changes nothing.
//
//req:shows A1
func TestInstalledItWorks(t *testing.T) {
	program := imageProgram(t)
	stage := newStage(t, "agents")
	install(t, stage, "{}")
	all := install(t, stage, "{}")
	d := into[appsv1.Deployment](t, all.one(t, "Deployment/r-agentrun-controllers"))
	stored, err := stage.Kube.AppsV1().Deployments(stage.Namespace).Get(t.Context(), d.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, stored.Generation, "an upgrade that changes nothing changes nothing")
	kubeconfig := account(t, stage.Kube, stage.Namespace, d.Spec.Template.Spec.ServiceAccountName)

	first := startPod(t, program, kubeconfig, d, "first")
	leads(t, "the first replica", first)
	second := startPod(t, program, kubeconfig, d, "second") // ready, though it does not lead
	succeeds(t, stage, "before")
	n, err := second.Value(t.Context(), "controller_leader", nil)
	require.NoError(t, err)
	assert.Zero(t, n, "two lead")
	require.NoError(t, first.Stop())
	leads(t, "the second replica", second)
	succeeds(t, stage, "after")
	require.NoError(t, second.Stop())
	for _, p := range []*rig.Process{first, second} {
		log, err := os.ReadFile(p.Log)
		require.NoError(t, err)
		assert.NotContains(t, strings.ToLower(string(log)), "forbidden")
	}
}

// startPod runs the program as a container of the workload's pod would be, but
// for the address it listens at.
func startPod(t *testing.T, program, kubeconfig string, d *appsv1.Deployment, name string) *rig.Process {
	t.Helper()
	var env []string
	dir := filepath.Join(cluster.Dir(), t.Name(), name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	c := d.Spec.Template.Spec.Containers[0]
	for _, v := range c.Env {
		switch {
		case v.ValueFrom == nil:
			env = append(env, v.Name+"="+v.Value)
		case v.ValueFrom.ResourceFieldRef != nil:
			env = append(env, fmt.Sprintf("%s=%d", v.Name, c.Resources.Limits.Memory().Value()))
		case v.ValueFrom.FieldRef.FieldPath == "metadata.name":
			env = append(env, v.Name+"="+name)
		case v.ValueFrom.FieldRef.FieldPath == "metadata.namespace":
			env = append(env, v.Name+"="+d.Namespace)
		}
	}
	args := slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool { return strings.HasPrefix(arg, "--metrics-bind-address=") })
	p, err := rig.Start(t.Context(), program, dir, kubeconfig, env, args...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}

// leads waits until a replica shows that it leads.
func leads(t *testing.T, name string, p *rig.Process) {
	t.Helper()
	eventually(t, name+" leads", func(c *assert.CollectT) {
		n, err := p.Value(t.Context(), "controller_leader", nil)
		require.NoError(c, err)
		require.NotZero(c, n)
	})
}

// succeeds makes a run and waits until it has succeeded.
func succeeds(t *testing.T, stage *play.Stage, name string) {
	t.Helper()
	_, err := stage.Runs.Create(t.Context(), play.NewRun(name), metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "run "+name+" has succeeded", func(c *assert.CollectT) {
		run, err := stage.Runs.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(c, err)
		require.Equal(c, v1alpha1.Succeeded, run.Status.Phase)
	})
}
