// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

type listStatus struct {
	status.Stamp `json:",inline"`

	Phase      string             `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions"`
}

// TestCommit_KeepsRequiredEmptyConditions: the schema requires the list, and
// there is nothing to report.
func TestCommit_KeepsRequiredEmptyConditions(t *testing.T) {
	type optional struct {
		status.Stamp `json:",inline"`

		Phase      string             `json:"phase,omitempty"`
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	}
	t.Run("ByTheType", func(t *testing.T) {
		s := newStage(t)
		s.object(t, lists, "a")
		w := via(typed[kind[listStatus]](s.ours.dynamic(lists)), status.Writer{Owned: []string{"Ready"}})
		for _, conds := range [][]metav1.Condition{nil, {}, {{Type: "Ready", Status: "True", Reason: "Ok"}}, {}} {
			before, after := readKind[listStatus](t, s, lists), readKind[listStatus](t, s, lists)
			after.Status.Conditions = conds
			_, err := w.Commit(t.Context(), before, after, running)
			require.NoError(t, err)
		}
		assert.Len(t, s.wire.Take(), 3)
		assert.Equal(t, []any{}, s.readLoose(t, lists).Object["status"].(object)["conditions"])
	})
	t.Run("ByTheStoredStatus", func(t *testing.T) {
		s := newStage(t)
		s.object(t, lists, "a")
		require.NoError(t, merge(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)(t, s.theirs.dynamic(lists), names{}))
		w := via(typed[kind[optional]](s.ours.dynamic(lists)), status.Writer{})
		for range 2 {
			before, after := readKind[optional](t, s, lists), readKind[optional](t, s, lists)
			after.Status.Conditions = nil
			_, err := w.Commit(t.Context(), before, after, running)
			require.NoError(t, err)
		}
		assert.Len(t, s.wire.Take(), 1)
		assert.Equal(t, []any{}, s.readLoose(t, lists).Object["status"].(object)["conditions"])
	})
}
