// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// TestInstalledItWorks: helm installs the chart on a real API server; the
// program of the image, with the arguments and variables of the rendered pods
// and the token of their account, brings AgentRuns to their ends; of two
// replicas one leads, and the other takes over. What the account may do is what
// was done. An upgrade without a change changes nothing.
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
	user := "system:serviceaccount:agents:" + d.Spec.Template.Spec.ServiceAccountName
	kubeconfig := account(t, stage.Kube, stage.Namespace, d.Spec.Template.Spec.ServiceAccountName)

	first := startPod(t, program, kubeconfig, d, "first")
	eventually(t, "the first replica leads", leads(first))
	second := startPod(t, program, kubeconfig, d, "second") // ready, though it does not lead
	failing := create(t, stage, "failing", needsASecret)
	playSamples(t, stage)
	both, err := leads(second)(t.Context())
	require.NoError(t, err)
	assert.False(t, both, "two lead")

	// A failure that goes on is repeated as a series.
	eventually(t, "the event of a failure is repeated", func(context.Context) (bool, error) {
		used, _ := requests(t, user)
		return used["patch events.k8s.io/events"], nil
	})
	require.NoError(t, stage.Runs.Delete(t.Context(), failing, metav1.DeleteOptions{}))

	// What runs out or is cancelled is deleted; it needs rights that no sample
	// does.
	cancelled := create(t, stage, "cancelled", func(run *v1alpha1.AgentRun) {
		run.Spec.PodAnnotations = map[string]string{kubelet.OutcomeAnnotation: kubelet.Never}
	})
	reached(t, stage, cancelled, v1alpha1.Running)
	_, err = stage.Runs.Patch(t.Context(), cancelled, types.MergePatchType, []byte(`{"spec":{"cancel":true}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	reached(t, stage, cancelled, v1alpha1.Cancelled)
	expired := create(t, stage, "expired", func(run *v1alpha1.AgentRun) { run.Spec.TTLSecondsAfterFinished = new(int32(1)) })
	eventually(t, "a run past its retention is deleted", func(ctx context.Context) (bool, error) {
		list, err := stage.Runs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(list.Items, func(r v1alpha1.AgentRun) bool { return r.Name == expired }), nil
	})

	require.NoError(t, first.Stop())
	eventually(t, "the second replica leads", leads(second))
	reached(t, stage, create(t, stage, "after", nil), v1alpha1.Succeeded)
	require.NoError(t, second.Stop())
	for _, p := range []*rig.Process{first, second} {
		log, err := os.ReadFile(p.Log)
		require.NoError(t, err)
		assert.NotContains(t, strings.ToLower(string(log)), "forbidden")
	}
	assertEveryRightIsUsed(t, stage, all, user, func(name string, env ...string) *rig.Process {
		return startPod(t, program, kubeconfig, d, name, env...)
	})
}

// TestTheControlPlaneIsServedWithoutACluster: its half of the program is ready
// with no token and no kubeconfig that leads anywhere.
func TestTheControlPlaneIsServedWithoutACluster(t *testing.T) {
	program := imageProgram(t)
	require.NoError(t, startPlane())
	d := into[appsv1.Deployment](t, render(t, "{}").one(t, "Deployment/r-agentrun"))
	startPod(t, program, os.DevNull, d, "control-plane")
}

// startPod runs the program as a container of the workload's pod would be, but
// for the address it listens at.
func startPod(t *testing.T, program, kubeconfig string, d *appsv1.Deployment, name string, env ...string) *rig.Process {
	t.Helper()
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

// leads says whether a replica shows that it leads.
func leads(p *rig.Process) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		families, err := p.Metrics(ctx)
		if err != nil {
			return false, err
		}
		for _, m := range families["controller_leader"].GetMetric() {
			if m.GetGauge().GetValue() == 1 {
				return true, nil
			}
		}
		return false, nil
	}
}

// playSamples plays the samples of the example, without the fifty.
func playSamples(t *testing.T, stage *play.Stage) {
	t.Helper()
	all, err := play.Load()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	played := 0
	for _, s := range all {
		if s.Copies == 1 && s.CancelAfter == "" { // what waits for pods takes half a minute
			played++
			require.NoError(t, s.Create(ctx, stage))
			require.NoError(t, s.Play(ctx, stage))
			require.Empty(t, s.Check(ctx, stage), s.Title)
		}
	}
	require.GreaterOrEqual(t, played, 5)
}

// create makes a run that ends by itself, unless change says otherwise.
func create(t *testing.T, stage *play.Stage, name string, change func(*v1alpha1.AgentRun)) string {
	t.Helper()
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.AgentRunSpec{Image: "busybox:1.37"}}
	if change != nil {
		change(run)
	}
	_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
	require.NoError(t, err)
	return name
}

func needsASecret(run *v1alpha1.AgentRun) {
	run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "none", Key: "none"}
}

func reached(t *testing.T, stage *play.Stage, name string, phase v1alpha1.Phase) {
	t.Helper()
	eventually(t, fmt.Sprintf("run %s is %s", name, phase), func(ctx context.Context) (bool, error) {
		run, err := stage.Runs.Get(ctx, name, metav1.GetOptions{})
		return err == nil && run.Status.Phase == phase, err
	})
}
