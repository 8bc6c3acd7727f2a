// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// TestConcerns: every request except a write of the status leads to a
// reconcile.
func TestConcerns(t *testing.T) {
	patch := func(body string, subresources ...string) func(*testing.T, *stage) {
		return func(t *testing.T, s *stage) {
			t.Helper()
			_, err := s.theirs.probes.Patch(t.Context(), "a", types.MergePatchType, []byte(body), metav1.PatchOptions{}, subresources...)
			require.NoError(t, err)
		}
	}
	cases := map[string]struct {
		reason string
		happen func(*testing.T, *stage)
		want   bool
	}{
		"Status":           {"The controller's own write.", patch(`{"status":{"phase":"Running"}}`, "status"), false},
		"StatusCommitted":  {"By the package.", func(t *testing.T, s *stage) { t.Helper(); typedCommit(t, s, "Running", func() {}) }, false},
		"Spec":             {"A new generation.", patch(`{"spec":{"image":"new"}}`), true},
		"Label":            {"A controller may use labels.", patch(`{"metadata":{"labels":{"a":"b"}}}`), true},
		"Annotation":       {"A controller may use annotations.", patch(`{"metadata":{"annotations":{"a":"b"}}}`), true},
		"FinalizerRemoved": {"It may be the last finalizer of another controller.", patch(`{"metadata":{"finalizers":["example.com/b"]}}`), true},
		"Owner": {"It may be garbage now.", patch(`{"metadata":{"ownerReferences":[
			{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"11111111-1111-1111-1111-111111111111"}]}}`), true},
		"Deleted": {"There is something to clean up.", func(t *testing.T, s *stage) { t.Helper(); s.remove(t, "a") }, true},
		"Recreated": {"It is another object.", func(t *testing.T, s *stage) {
			t.Helper()
			patch(`{"metadata":{"finalizers":null}}`)(t, s)
			s.recreate(t, "a")
		}, true},
		"Nothing": {"A resync asks for a reconcile.", func(*testing.T, *stage) {}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.create(t, "a")
			patch(`{"metadata":{"finalizers":["example.com/a","example.com/b"]}}`)(t, s)
			before := s.read(t, "a")
			tc.happen(t, s)
			assert.Equal(t, tc.want, status.NeedsReconcile(before, s.read(t, "a")), tc.reason)
		})
	}
}
