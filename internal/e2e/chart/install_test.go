// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// TestInstalledItWorks: helm installs the chart on a real API server; the
// program of the image, with the arguments and variables of the rendered pod
// and the token of its account, leads and brings an AgentRun to its end. The
// account is refused nothing. An upgrade without a change changes nothing.
//
//req:shows A1
func TestInstalledItWorks(t *testing.T) {
	program, user := image(t)
	stage := newStage(t, "agents")
	require.NoError(t, upgrade(t, "r", stage.Namespace, "{}"))
	require.NoError(t, upgrade(t, "r", stage.Namespace, "{}"))
	manifest, err := runHelm(t, "get", "manifest", "r", "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+stage.Namespace)
	require.NoError(t, err)
	all := parseIn(t, stage.Namespace, manifest)
	d := into[appsv1.Deployment](t, all.one(t, "Deployment/r-agentrun-controllers"))
	stored, err := stage.Kube.AppsV1().Deployments(stage.Namespace).Get(t.Context(), d.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, stored.Generation, "an upgrade that changes nothing changes nothing")
	pod := d.Spec.Template.Spec
	assert.Equal(t, user, fmt.Sprintf("%d:%d", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup))

	p := startPod(t, program, account(t, stage.Namespace, pod.ServiceAccountName), d)
	_, err = stage.Runs.Create(t.Context(), play.NewRun("run"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		run, err := stage.Runs.Get(t.Context(), "run", metav1.GetOptions{})
		require.NoError(c, err)
		require.Equal(c, v1alpha1.Succeeded, run.Status.Phase)
	}, 2*time.Minute, 50*time.Millisecond, "the run has succeeded")
	leads, err := p.Value(t.Context(), "controller_leader", nil)
	require.NoError(t, err)
	assert.NotZero(t, leads)
	require.NoError(t, p.Stop())
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	assert.NotContains(t, strings.ToLower(string(log)), "forbidden")
}

// image returns the program of the image, which the Dockerfile's own line
// compiles, and the user of the image.
func image(t *testing.T) (program, user string) {
	t.Helper()
	dockerfile := string(readChart(t, "Dockerfile"))
	part := func(pattern string) string {
		found := regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(dockerfile)
		require.Len(t, found, 2, pattern)
		return found[1]
	}
	program = filepath.Join(t.TempDir(), "agentrun")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", part(`^RUN (.* go build .* -o )/agentrun \./cmd$`)+program+" ./cmd")
	cmd.Dir = filepath.Join(chartDir, "..", "..", part(`^WORKDIR /src/(.+)$`))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.NotContains(t, string(readFile(t, program)), "ld-linux", "it needs no loader: the image has none")
	return program, part(`^USER (\d+:\d+)$`)
}

// startPod runs the program as a container of the workload's pod would be, but
// for the address it listens at.
func startPod(t *testing.T, program, kubeconfig string, d *appsv1.Deployment) *rig.Process {
	t.Helper()
	var env []string
	dir := filepath.Join(cluster.Dir(), t.Name())
	require.NoError(t, os.MkdirAll(dir, 0o700))
	c := d.Spec.Template.Spec.Containers[0]
	for _, v := range c.Env {
		switch {
		case v.ValueFrom == nil:
			env = append(env, v.Name+"="+v.Value)
		case v.ValueFrom.ResourceFieldRef != nil:
			env = append(env, fmt.Sprintf("%s=%d", v.Name, c.Resources.Limits.Memory().Value()))
		case v.ValueFrom.FieldRef.FieldPath == "metadata.name":
			env = append(env, v.Name+"=pod")
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
