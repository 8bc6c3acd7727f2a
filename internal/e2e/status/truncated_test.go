// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_KeepsTheConditionsWithoutARefusedField: only this suite shows the
// answers of the API server and of etcd to a status that is too large. The
// contract has a value that the schema refuses, and what the next Commit does.
func TestCommit_KeepsTheConditionsWithoutARefusedField(t *testing.T) {
	for reason, size := range map[string]int{
		"Etcd refuses 1.5 MiB.":         1_700_000,
		"Its client refuses 2 MiB.":     2_200_000,
		"The API server refuses 3 MiB.": 4_000_000,
	} {
		t.Run(reason, func(t *testing.T) {
			s := newStage(t)
			before := s.object(t, tasks, "a")
			after := withStatus(before, object{"phase": strings.Repeat("x", size)})
			setReady(after)
			w := via(s.dynamic(tasks).Patch, status.Writer{FieldNames: taskNames})
			result, err := w.Commit(t.Context(), before, after, status.Facts{Progress: status.Done})
			var refused interface{ Reason() string }
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, "StatusRefused", refused.Reason())
			assert.Equal(t, status.Written, result)
			stored := s.readLoose(t, tasks)
			finished, _, _ := unstructured.NestedString(stored.Object, "status", "completionTime")
			assert.Empty(t, finished, "it waits for the whole status")
			reasons := map[string]any{}
			for _, c := range conditionsIn(t, stored) {
				fields := c.(object)
				reasons[fields["type"].(string)] = fields["message"]
			}
			assert.Equal(t, map[string]any{"Ready": "as it should be"}, reasons)
		})
	}
}
