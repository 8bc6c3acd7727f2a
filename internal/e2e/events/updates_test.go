// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/events"
)

// TestCoreUpdatesBothGenerations: through core/v1, old and new readers of the
// same Event find the count and the time.
func TestCoreUpdatesBothGenerations(t *testing.T) {
	t.Parallel()
	s := newStage(t, plane)
	r := record(t, plane.Config(), coreOnly, events.Options{})
	for range 3 {
		failed(r.Recorder, s.reference("a"))
		r.flushed(t)
	}
	stored := s.stored(t)
	require.Len(t, stored, 1)
	ev := stored[0]
	require.Equal(t, 3, reported(ev))
	assert.EqualValues(t, 3, ev.Count)
	assert.Equal(t, controller, ev.Source.Component)
	assert.Equal(t, ev.Series.LastObservedTime.Unix(), ev.LastTimestamp.Unix())
	assert.Equal(t, ev.EventTime.Unix(), ev.FirstTimestamp.Unix())
}

// TestOneObjectInBothGroups: both groups are views of one object, so a series
// continues through either group.
func TestOneObjectInBothGroups(t *testing.T) {
	t.Parallel()
	s := newStage(t, plane)
	r := record(t, plane.Config(), bothGroups, events.Options{})
	r.Eventf(s.object(t, "a"), s.object(t, "b"), "Warning", "StepFailed", "Run", "step %d failed", 2)
	r.flushed(t)
	stored := s.stored(t) // through core/v1
	require.Len(t, stored, 1)
	core := stored[0]
	ev, err := s.kube.EventsV1().Events(s.namespace).Get(t.Context(), core.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, core.UID, ev.UID)
	assert.Equal(t, core.InvolvedObject, ev.Regarding)
	assert.Equal(t, core.Related, ev.Related)
	assert.Equal(t, core.Message, ev.Note)
	assert.Equal(t, "step 2 failed", ev.Note)
	assert.Equal(t, "a", ev.Regarding.Name)
	assert.Equal(t, "ConfigMap", ev.Regarding.Kind)
	assert.NotEmpty(t, ev.Regarding.UID)
	assert.Empty(t, ev.Regarding.ResourceVersion, "with it, tools that group Events would show each one separately")
	require.NotNil(t, ev.Related)
	assert.Equal(t, "b", ev.Related.Name)
}
