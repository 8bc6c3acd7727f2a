// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
)

// TestOnlyTheSeriesCanChange: events.k8s.io/v1 accepts only a new series and
// new metadata for a stored Event. So a changed note becomes a new Event, and
// an update has only the series.
func TestOnlyTheSeriesCanChange(t *testing.T) {
	t.Parallel()
	const series = `{"series":{"count":%d,"lastObservedTime":"2026-01-02T03:04:05.000000Z"}}`
	cases := map[string]struct {
		reason, patch, field string // field "" is accepted
	}{
		"Note":         {"The note is immutable.", `{"note":"other"}`, "message"},
		"Reason":       {"The reason is immutable.", `{"reason":"other"}`, "reason"},
		"Action":       {"The action is immutable.", `{"action":"other"}`, "action"},
		"Type":         {"The type is immutable.", `{"type":"Warning"}`, "type"},
		"Regarding":    {"An Event stays with its object.", `{"regarding":{"name":"other"}}`, "involvedObject"},
		"Related":      {"The related object is immutable.", `{"related":{"name":"other"}}`, "related"},
		"Controller":   {"Another replica cannot take it over.", `{"reportingController":"other"}`, "reportingController"},
		"Instance":     {"Another instance cannot take it over.", `{"reportingInstance":"other"}`, "reportingInstance"},
		"EventTime":    {"The time of the first occurrence is immutable.", `{"eventTime":"2026-01-02T03:04:05.000001Z"}`, "eventTime"},
		"Count":        {"The count belongs to core/v1.", `{"deprecatedCount":2}`, "count"},
		"Source":       {"The source belongs to core/v1.", `{"deprecatedSource":{"component":"x"}}`, "source"},
		"LastSeen":     {"The time belongs to core/v1.", `{"deprecatedLastTimestamp":"2026-01-02T03:04:05Z"}`, "lastTimestamp"},
		"SeriesOfOne":  {"A series has at least two.", fmt.Sprintf(series, 1), "series.count"},
		"Series":       {"A series may begin.", fmt.Sprintf(series, 7), ""},
		"SeriesShrink": {"The server does not check the count: it may even shrink.", fmt.Sprintf(series, 2), ""},
		"Label":        {"Metadata is free.", `{"metadata":{"labels":{"a":"b"}}}`, ""},
	}
	s := newStage(t, plane)
	ev := s.valid()
	ev.Series = nil
	_, err := s.kube.EventsV1().Events(s.namespace).Create(t.Context(), ev, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(cases)) { // the series begins before it shrinks
		tc := cases[name]
		_, err := s.kube.EventsV1().Events(s.namespace).Patch(t.Context(), ev.Name, types.MergePatchType, []byte(tc.patch), metav1.PatchOptions{})
		if tc.field == "" {
			require.NoError(t, err, "%s: %s", name, tc.reason)
			continue
		}
		require.True(t, apierrors.IsInvalid(err), "%s: %s: %v", name, tc.reason, err)
		assert.Contains(t, fields(err), tc.field, "%s: %s", name, tc.reason)
	}
}

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
