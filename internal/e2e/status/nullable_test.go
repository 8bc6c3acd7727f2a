// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_NamesANullThatTheSchemaRequires: a merge patch cannot carry null.
func TestCommit_NamesANullThatTheSchemaRequires(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		stored string
		set    object
		field  string
	}{
		"FirstWrite": {"The field is not sent.", "", object{"verdict": nil}, "status.verdict"},
		"Cleared":    {"Null removes the stored value.", `{"verdict":"Lost"}`, object{"verdict": nil}, "status.verdict"},
		"InAnObject": {"An object is merged too.", `{"verdict":"Lost"}`, object{"totals": object{"failed": nil, "active": int64(1)}}, "status.totals.failed"},
		"InAList":    {"The API server drops null in an element.", `{"verdict":"Lost"}`, object{"steps": []any{object{"name": "a", "exit": int64(0)}, object{"name": "b", "exit": nil}}}, "status.steps[1].exit"},
		"InAMap":     {"A key may be any text.", `{"verdict":"Lost"}`, object{"named": object{"a b": object{"exit": nil}}}, "status.named.a b.exit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.object(t, voids, "a")
			if tc.stored != "" {
				require.NoError(t, merge(`{"status":`+tc.stored+`}`)(t, s.theirs.dynamic(voids), names{}))
			}
			before := s.readLoose(t, voids)
			after := withStatus(before, tc.set)
			_, err := via(s.ours.dynamic(voids).Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.ErrorContains(t, err, tc.field+": null cannot be written", tc.reason)
			require.ErrorContains(t, err, "Status().Update")
			assert.True(t, apierrors.IsInvalid(err), "the API server's own words are wrapped")

			// The remedy.
			after = withStatus(s.readLoose(t, voids), tc.set)
			_, err = s.theirs.dynamic(voids).UpdateStatus(t.Context(), after, metav1.UpdateOptions{})
			require.NoError(t, err)

			// A null that is stored already stays while other fields change.
			before = s.readLoose(t, voids)
			after = withStatus(before, object{"phase": "Running"})
			_, err = via(s.ours.dynamic(voids).Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.NoError(t, err)
			assert.Equal(t, "Running", s.readLoose(t, voids).Object["status"].(object)["phase"])
		})
	}
}
