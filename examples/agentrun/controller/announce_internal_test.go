// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
)

// nobody answers.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection reset by peer")
}

// The API server dies when it has recorded the end of a run, and before it says so: the cache brings the end, and it is told of once.
func TestAnEndWhoseRecordWasNotAnsweredIsAnnouncedOnce(t *testing.T) {
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	c, err := New(&rest.Config{Host: "http://127.0.0.1", Transport: nobody{}}, m, Options{})
	require.NoError(t, err)
	recorded := func() int64 { return c.recorder.Stats().Recorded }
	run := newRun("nightly", "uid-1")
	run.ResourceVersion = "1"
	a := &attempt{Controller: c, scope: c.scopes[0], before: run, run: run.DeepCopy()}
	refused := &failure{reasonInvalidSpec, "spec.image is empty"}
	require.ErrorContains(t, a.end(t.Context(), v1alpha1.Failed, refused), "connection reset")
	require.Zero(t, recorded(), "nobody knows yet whether it is recorded")

	stored := a.run.DeepCopy()
	now := metav1.Now()
	stored.ResourceVersion, stored.Status.Stamp = "2", status.Stamp{ObservedGeneration: stored.Generation, UpdatedAt: &now, FinishedAt: &now}
	require.NoError(t, c.scopes[0].runs.GetStore().Add(stored))
	for range 2 {
		_, err := c.step(t.Context(), keyOf(run))
		require.NoError(t, err)
		assert.Equal(t, int64(1), recorded())
	}
}
