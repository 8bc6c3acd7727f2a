// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_KeepsTheVerdictWithoutARefusedField: only this suite shows the
// answers of the API server and of etcd to a status that is too large.
func TestCommit_KeepsTheVerdictWithoutARefusedField(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		set    object
		field  string
	}{
		"TooLargeForEtcd":         {"etcd refuses 1.5 MiB.", object{"phase": strings.Repeat("x", 1_700_000)}, "status.phase"},
		"TooLargeForItsClient":    {"Its client refuses 2 MiB.", object{"phase": strings.Repeat("x", 2_200_000)}, "status.phase"},
		"TooLargeForTheAPIServer": {"The API server refuses 3 MiB.", object{"phase": strings.Repeat("x", 4_000_000)}, "status.phase"},
		"WrongType":               {"The schema refuses a value.", object{"cursor": "x"}, "status.cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.object(t, tasks, "a")
			w := via(s.ours.dynamic(tasks).Patch, status.Writer{FieldNames: taskNames})
			reconcile := func(set object) (status.Result, error) {
				before := s.readLoose(t, tasks)
				after := withStatus(before, set)
				ready := object{"type": "Ready", "status": "False", "reason": "Broken", "message": "m"}
				after.Object["status"].(object)["conditions"] = []any{ready}
				return w.Commit(t.Context(), before, after, status.Facts{Progress: status.Done})
			}
			result, err := reconcile(tc.set)
			require.ErrorContains(t, err, tc.field, tc.reason)
			assert.Equal(t, status.Written, result)
			stored := s.readLoose(t, tasks)
			assert.Equal(t, map[string]string{"Ready": "m", status.StatusTruncated: truncatedMessage(tc.field)}, messages(t, stored))
			finished, _, _ := unstructured.NestedString(stored.Object, "status", "completionTime")
			_, err = time.Parse(time.RFC3339, finished)
			require.NoError(t, err, "the time of the verdict")

			result, err = reconcile(tc.set)
			require.ErrorContains(t, err, tc.field, "each time")
			assert.Empty(t, result, "but nothing is written again")
			assert.Equal(t, stored, s.readLoose(t, tasks))

			result, err = reconcile(object{"phase": "small"})
			require.NoError(t, err)
			assert.Equal(t, status.Written, result)
			assert.Equal(t, map[string]string{"Ready": "m"}, messages(t, s.readLoose(t, tasks)))
		})
	}
}

func truncatedMessage(field string) string {
	return "the API server refused " + field + "; only conditions and times are written"
}

// messages are those of the conditions, by type.
func messages(t *testing.T, u *unstructured.Unstructured) map[string]string {
	t.Helper()
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	require.NoError(t, err)
	messages := map[string]string{}
	for _, c := range list {
		fields, _ := c.(map[string]any)
		typ, _ := fields["type"].(string)
		messages[typ], _ = fields["message"].(string)
	}
	return messages
}
