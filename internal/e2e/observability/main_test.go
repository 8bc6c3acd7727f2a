// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observability_test checks the example on an OTLP receiver.
//
// Only this suite proves that its metrics, its exports and its logs match one
// another.
//
// The suite needs Linux.
package observability_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// plane is shared by all tests.
var plane suite.Example

func TestMain(m *testing.M) {
	os.Exit(plane.Main(m, "e2e/observability", controlplane.Options{}, "-tags=otlp"))
}

// start runs the example's controller in a new namespace, with the settings
// env, until the test ends. The controller may hold a lease there.
func start(t *testing.T, env ...string) (*play.Stage, *rig.Process) {
	t.Helper()
	stage := plane.NewStage(t)
	_, err := plane.Admin.Run(t.Context(), rbac.LeaderYAML(), "--namespace="+stage.Namespace, "apply", "--server-side", "-f", "-")
	require.NoError(t, err)
	lease := "--leader-elect-lease-namespace=" + stage.Namespace
	return stage, plane.Start(t, stage, suite.Controller{Env: env, Args: []string{"--leader-elect", lease}})
}

// The settings that enable the exporters.
const sendTraces, sendMetrics = "OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp"

// endpoint returns the settings of a collector, which alone enable no exporter,
// and more.
func endpoint(url string, more ...string) []string {
	return append(more, "OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_METRIC_EXPORT_INTERVAL=100")
}
