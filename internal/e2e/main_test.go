// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e_test tests the packages and the example on a real API server,
// with the real Job, TTL and garbage collector controllers. Only the kubelet is
// fake.
//
// Only this suite proves the samples, the demo, the commands of the runbooks,
// the manifests for Prometheus Operator, and how the program ends.
package e2e_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	_ = flag.Set("test.parallel", "6") // most of a test is waiting; a flag on the command line counts
	os.Exit(suite.Main(m, "e2e", controlplane.Options{}, func(ctx context.Context, cp *controlplane.ControlPlane) (err error) {
		plane = cp
		if kubectl, kubeconfig, err = rig.Local(ctx, plane); err != nil {
			return err
		}
		program, err = rig.Build(ctx, plane.Dir(), "-race")
		return err
	}))
}

// newStage creates a namespace named after the test.
func newStage(t *testing.T) *play.Stage {
	t.Helper()
	stage, err := play.NewStage(plane.Config(), strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())))
	require.NoError(t, err)
	_, err = stage.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stage.Namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return stage
}

// startController runs the example's controller until the test ends. It works
// only in the stage's namespace.
func startController(t *testing.T, stage *play.Stage, env ...string) *rig.Process {
	t.Helper()
	p, err := rig.Start(t.Context(), program, logDir(t), kubeconfig, env, "--namespaces="+stage.Namespace)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// logDir is the directory of the controllers' logs. They stay with the control
// plane's logs if a test fails.
func logDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(plane.Dir(), strings.ReplaceAll(t.Name(), "/", "-"))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	return dir
}
