// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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
	_, err = stage.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return stage
}

// install installs or upgrades the chart with helm, as a user does, and returns
// the objects of the release, with the cluster-scoped ones.
func install(t *testing.T, stage *play.Stage, values string) objects {
	t.Helper()
	_, err := runHelm(t, "upgrade", "--install", "r", chartDir, "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+stage.Namespace,
		"--values="+valuesFile(t, both), "--values="+valuesFile(t, values), "--timeout=2m")
	require.NoError(t, err)
	out, err := runHelm(t, "get", "manifest", "r", "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+stage.Namespace)
	require.NoError(t, err)
	return parseIn(t, stage.Namespace, out)
}

// account makes the kubeconfig file of a ServiceAccount with a token from the
// API server, as a pod of it would hold one.
func account(t *testing.T, kube kubernetes.Interface, namespace, name string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	token, err := kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, request, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(cluster.Config())
	config.BearerToken = token.Status.Token
	path := filepath.Join(cluster.Dir(), namespace+"-"+name+".kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(path, config))
	return path
}

// eventually asks until it holds, for two minutes: the machine may be loaded.
func eventually(t *testing.T, what string, holds func(c *assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, holds, 2*time.Minute, 50*time.Millisecond, what)
}
