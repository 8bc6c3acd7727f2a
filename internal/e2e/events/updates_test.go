// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
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

	r := record(t, plane.Config(), bothGroups, events.Options{})
	for range 2 {
		failed(r.Recorder, s.reference("b"))
		r.flushed(t)
	}
	r.Failure(s.reference("b"), refusal{"b has changed"})
	r.flushed(t)
	sent := r.wire.sent()
	require.Len(t, sent, 3)
	assert.Regexp(t, `^\{"series":\{"count":2,"lastObservedTime":"[^"]+"\}\}$`, sent[1].body)
	assert.Equal(t, "POST", sent[2].method, "another note is another Event")
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
	assert.EqualValues(t, 3, ev.DeprecatedCount)
	assert.Equal(t, controller, ev.DeprecatedSource.Component)
	assert.Equal(t, ev.Series.LastObservedTime.Unix(), ev.DeprecatedLastTimestamp.Unix())
	assert.Equal(t, ev.EventTime.Unix(), ev.DeprecatedFirstTimestamp.Unix())

	// core/v1 accepts a new message for an Event with an eventTime, up to the
	// limit of the new group.
	patch := func(message string) error {
		_, err := s.kube.CoreV1().Events(s.namespace).Patch(t.Context(), ev.Name, types.MergePatchType, []byte(`{"message":"`+message+`"}`), metav1.PatchOptions{})
		return err
	}
	require.NoError(t, patch("other"))
	assert.True(t, apierrors.IsInvalid(patch(long(1025))))
}

// TestOneObjectInBothGroups: both groups are views of one object, so a series
// continues through either group.
func TestOneObjectInBothGroups(t *testing.T) {
	t.Parallel()
	s := newStage(t, plane)
	r := record(t, plane.Config(), bothGroups, events.Options{})
	r.Eventf(s.object(t, "a"), s.object(t, "b"), "Warning", "StepFailed", "Run", "step %d failed", 2)
	r.flushed(t)
	selectors := map[string]func(context.Context, string) ([]types.UID, error){
		"regarding.name=a,regarding.namespace=" + s.namespace + ",reason=StepFailed,type=Warning,reportingController=" + controller: s.uids,
		"involvedObject.name=a,reason=StepFailed,type=Warning,reportingComponent=" + controller + ",source=" + controller:           s.coreUIDs,
	}
	var found []types.UID
	for selector, list := range selectors {
		uids, err := list(t.Context(), selector)
		require.NoError(t, err)
		require.Len(t, uids, 1, selector)
		found = append(found, uids...)
	}
	assert.Equal(t, found[0], found[1])
	ev, err := s.kube.CoreV1().Events(s.namespace).Get(t.Context(), s.stored(t)[0].Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "step 2 failed", ev.Message)
	assert.Equal(t, "a", ev.InvolvedObject.Name)
	assert.Equal(t, "ConfigMap", ev.InvolvedObject.Kind)
	assert.NotEmpty(t, ev.InvolvedObject.UID)
	assert.Empty(t, ev.InvolvedObject.ResourceVersion, "with it, tools that group Events would show each one separately")
	require.NotNil(t, ev.Related)
	assert.Equal(t, "b", ev.Related.Name)
}

func (s *stage) uids(ctx context.Context, selector string) (uids []types.UID, err error) {
	list, err := s.kube.EventsV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil, err
	}
	for _, ev := range list.Items {
		uids = append(uids, ev.UID)
	}
	return uids, nil
}

func (s *stage) coreUIDs(ctx context.Context, selector string) (uids []types.UID, err error) {
	list, err := s.kube.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil, err
	}
	for _, ev := range list.Items {
		uids = append(uids, ev.UID)
	}
	return uids, nil
}
