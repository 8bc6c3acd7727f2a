// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observability_test checks the example on a real Prometheus and an
// OTLP receiver.
//
// Only this suite proves that its metrics, its exports, its logs, the dashboard
// and the rules match one another.
package observability_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// The control plane, the installed example and its program, shared by all
// tests.
var (
	plane      *controlplane.ControlPlane
	program    string
	kubeconfig string // of the controller's user
	kubectl    rig.Kubectl
)

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, "e2e/observability", controlplane.Options{}, func(ctx context.Context, cp *controlplane.ControlPlane) (err error) {
		plane = cp
		if kubectl, kubeconfig, err = rig.Local(ctx, plane); err != nil {
			return err
		}
		program, err = rig.Build(ctx, plane.Dir(), "-race", "-tags=otlp")
		return err
	}))
}

// newStage creates a namespace named after the test. The controller may hold a
// lease in it.
func newStage(t *testing.T) *play.Stage {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	stage, err := play.NewStage(plane.Config(), name)
	require.NoError(t, err)
	_, err = stage.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kubectl.Run(t.Context(), rbac.LeaderYAML(), "--namespace="+name, "apply", "--server-side", "-f", "-")
	require.NoError(t, err)
	return stage
}

// start runs the example's controller for the stage's namespace, with the
// settings env, until the test ends.
func start(t *testing.T, stage *play.Stage, env ...string) *rig.Process {
	t.Helper()
	p, err := rig.Start(t.Context(), program, dir(t), kubeconfig, append(env, "POD_NAMESPACE="+stage.Namespace), "--namespaces="+stage.Namespace, "--leader-elect")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}

// dir is the directory of the test's programs. It stays with the control
// plane's files if a test fails.
func dir(t *testing.T) string {
	t.Helper()
	path := filepath.Join(plane.Dir(), strings.ReplaceAll(t.Name(), "/", "-"))
	require.NoError(t, os.MkdirAll(path, 0o700))
	return path
}
