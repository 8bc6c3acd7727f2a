// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// Example is a control plane on which examples/agentrun is installed, and the
// program of its controller. Main sets it.
type Example struct {
	*controlplane.ControlPlane

	Admin          rig.Kubectl // with all rights
	Program        string
	RoleKubeconfig string // of the user with only the rights of the role
}

// Main is [Main] with the example installed. The program is built with flags,
// and with the race detector if the tests are, unless flags have -race=false.
func (e *Example) Main(m *testing.M, name string, opts controlplane.Options, flags ...string) int {
	return Main(m, name, opts, func(ctx context.Context, cp *controlplane.ControlPlane) (err error) {
		e.ControlPlane = cp
		if e.Admin, e.RoleKubeconfig, err = rig.Local(ctx, cp); err != nil {
			return err
		}
		e.Program = filepath.Join(cp.Dir(), "agentrun")
		return rig.Build(ctx, rig.AgentRun, e.Program, append([]string{RaceFlag()}, flags...)...)
	})
}

// RaceFlag is the argument of go build by which a program has the race detector
// if the tests have it.
func RaceFlag() string {
	info, ok := debug.ReadBuildInfo()
	race := debug.BuildSetting{Key: "-race", Value: "true"}
	return fmt.Sprintf("-race=%t", ok && slices.Contains(info.Settings, race))
}

// NewStage creates a namespace named after the test, and after more if a test
// has several.
func (e *Example) NewStage(t *testing.T, more ...string) *play.Stage {
	t.Helper()
	name := strings.Join(append([]string{t.Name()}, more...), "-")
	name = strings.NewReplacer("/", "-", "_", "-").Replace(name)
	stage, err := play.NewStage(e.Config(), strings.ToLower(name))
	require.NoError(t, err)
	CreateNamespace(t, stage)
	return stage
}

// CreateNamespace creates the stage's namespace.
func CreateNamespace(t *testing.T, stage *play.Stage) {
	t.Helper()
	require.NoError(t, stage.CreateNamespace(t.Context()))
}

// Controller says how to run the example's controller. The zero value runs it
// as the user with the rights of its role.
type Controller struct {
	Name      string       // of a replica; empty if a test has no others at that time
	User      *rest.Config // nil means the user of the role
	Env, Args []string
}

// Run runs the controller for a stage like rig.Start. Its log stays with the
// control plane's logs if a test fails.
func (e *Example) Run(
	ctx context.Context, t *testing.T, stage *play.Stage, c Controller,
) (*rig.Process, error) {
	t.Helper()
	dir := filepath.Join(e.Dir(), strings.ReplaceAll(t.Name(), "/", "-"), c.Name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	kubeconfig := e.RoleKubeconfig
	if c.User != nil {
		kubeconfig = filepath.Join(dir, "kubeconfig")
		require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, c.User))
	}
	args := append([]string{"--namespaces=" + stage.Namespace}, c.Args...)
	return rig.Start(ctx, e.Program, dir, kubeconfig, c.Env, args...)
}

// Start runs the controller for a stage until the test ends.
func (e *Example) Start(t *testing.T, stage *play.Stage, c Controller) *rig.Process {
	t.Helper()
	p, err := e.Run(t.Context(), t, stage, c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}
