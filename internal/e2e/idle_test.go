// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/rig"
)

// TestIdleClusterSeesNoWrites: finished, waiting and running runs that nothing happens to are left alone. (The heartbeat of those that are
// not terminal comes every ten minutes.)
func TestIdleClusterSeesNoWrites(t *testing.T) {
	t.Parallel()
	stage := newStage(t)
	p := startController(t, stage)
	for i := range 6 {
		run := story(i)
		if i >= 3 {
			run.Spec.PodAnnotations["controlplane.controllerkit.dev/outcome"] = "never"
		}
		_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for i := range 3 {
		ended(t.Context(), t, stage, story(i))
	}
	wait(t.Context(), 5*time.Second)
	before := versions(t, stage.Namespace)
	requests := writes(t, p)
	wait(t.Context(), 20*time.Second)
	assert.Equal(t, before, versions(t, stage.Namespace), "an object was written")
	assert.Equal(t, requests, writes(t, p), "the controller sent a status write")
}

// versions are the resource versions of everything the controller writes.
func versions(t *testing.T, namespace string) []string {
	t.Helper()
	text, err := kubectl.Run(t.Context(), nil, "--namespace="+namespace, "get", "aruns,jobs,events", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(text), "\n")
}

// writes is how many status writes and events the controller has sent.
func writes(t *testing.T, p *rig.Process) (n int) {
	t.Helper()
	families, err := p.Metrics(t.Context())
	require.NoError(t, err)
	for _, m := range families["controller_status_writes_total"].GetMetric() {
		if result := m.GetLabel()[1].GetValue(); result != "unchanged" {
			n += int(m.GetCounter().GetValue())
		}
	}
	for _, m := range families["controller_events_total"].GetMetric() {
		n += int(m.GetCounter().GetValue())
	}
	require.Positive(t, n)
	return n
}
