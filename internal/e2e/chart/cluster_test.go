// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

var cluster *controlplane.ControlPlane

// startPlane starts the control plane for the tests that need one. The API
// server enforces owner references as some distributions do: who makes an owner
// block its deletion must be allowed to.
var startPlane = sync.OnceValue(func() (err error) {
	cluster, err = controlplane.Start(context.Background(), controlplane.Options{
		Log:           os.Stderr,
		APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	})
	return err
})

func stopPlane(failed bool) error {
	if cluster == nil {
		return nil
	}
	if failed {
		cluster.Keep()
	}
	return cluster.Stop()
}

// newStage starts the control plane if need be, and makes a namespace.
func newStage(t *testing.T, namespace string) *play.Stage {
	t.Helper()
	require.NoError(t, startPlane())
	stage, err := play.NewStage(cluster.Config(), namespace)
	require.NoError(t, err)
	require.NoError(t, stage.CreateNamespace(t.Context()))
	return stage
}

// upgrade installs or upgrades the chart with helm, as a user does.
func upgrade(t *testing.T, release, namespace, values string) error {
	t.Helper()
	_, err := runHelm(t, "upgrade", "--install", release, chartDir, "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+namespace,
		"--values="+valuesFile(t, both), "--values="+valuesFile(t, values), "--timeout=2m")
	return err
}

// account makes the kubeconfig file of a ServiceAccount with a token from the
// API server, as a pod of it would hold one.
func account(t *testing.T, namespace, name string) string {
	t.Helper()
	token, err := kubectl(t, "", "--namespace="+namespace, "create", "token", name)
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(cluster.Config())
	config.BearerToken = strings.TrimSpace(token)
	path := filepath.Join(cluster.Dir(), namespace+"-"+name+".kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(path, config))
	return path
}

// kubectl runs kubectl with all rights, and returns its output.
func kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cluster.Kubectl(), append(args, "--kubeconfig="+cluster.Kubeconfig())...)
	cmd.Env, cmd.Stdin = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + helm.home}, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
