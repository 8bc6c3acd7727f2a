// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

func loose(fields any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "status": fields}}
}

func TestStamp_ReadsTheFieldsOfEachForm(t *testing.T) {
	typed := &build{}
	typed.Status.Stamp = status.Stamp{ObservedGeneration: 3, StartedAt: at(0)}
	cases := map[string]struct {
		reason string
		names  status.FieldNames
		object status.Object
		want   int64
	}{
		"Typed":        {"The Stamp is embedded inline.", status.FieldNames{}, typed, 3},
		"Unstructured": {"A time is a text.", status.FieldNames{}, loose(map[string]any{"observedGeneration": int64(3), "startedAt": "2025-06-01T12:00:00Z"}), 3},
		"OwnNames": {
			"The names are those of FieldNames.",
			status.FieldNames{StartedAt: "startTime"},
			loose(map[string]any{"observedGeneration": int64(3), "startTime": "2025-06-01T12:00:00Z", "startedAt": "x"}), 3,
		},
		"Absent": {
			"A field that the kind does not have is not read.",
			status.FieldNames{ObservedGeneration: "-"},
			loose(map[string]any{"observedGeneration": "x", "startedAt": "2025-06-01T12:00:00Z"}), 0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := statustest.Stamp(tc.names, tc.object)
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, got.ObservedGeneration, tc.reason)
			assert.True(t, got.StartedAt.Equal(at(0)), tc.reason)
		})
	}
	got, err := statustest.Stamp(status.FieldNames{}, &metav1.PartialObjectMetadata{})
	require.NoError(t, err)
	assert.Zero(t, got, "no status yet")
}

func TestStamp_ReadsWholeNumbersOfEveryDecoder(t *testing.T) {
	for _, n := range []any{int64(2), int32(2), 2, 2.0, json.Number("2")} {
		s, err := statustest.Stamp(status.FieldNames{}, loose(map[string]any{"observedGeneration": n}))
		require.NoError(t, err)
		assert.EqualValues(t, 2, s.ObservedGeneration)
	}
	for _, n := range []any{1e300, json.Number("2.5"), true, "2"} {
		_, err := statustest.Stamp(status.FieldNames{}, loose(map[string]any{"observedGeneration": n}))
		require.ErrorContains(t, err, "status/statustest: stamp: status.observedGeneration")
	}
}

func TestStamp_RefusesWhatIsNoStatus(t *testing.T) {
	for name, o := range map[string]status.Object{"Nil": nil, "NilPointer": (*build)(nil), "Text": loose("x")} {
		_, err := statustest.Stamp(status.FieldNames{}, o)
		require.Error(t, err, name)
	}
}
