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
// The error names the field as the API server does, and the remedy works. The
// contract has a field of the status itself.
func TestCommit_NamesANullThatTheSchemaRequires(t *testing.T) {
	steps := []any{object{"name": "a", "exit": int64(0)}, object{"name": "b", "exit": nil}}
	for field, set := range map[string]object{
		"status.totals.failed":  {"totals": object{"failed": nil, "active": int64(1)}},
		"status.steps[1].exit":  {"steps": steps}, // the API server drops null in an element
		"status.named.a b.exit": {"named": object{"a b": object{"exit": nil}}},
	} {
		t.Run(field, func(t *testing.T) {
			s := newStage(t)
			before := s.object(t, voids, "a")
			set["verdict"] = "Lost"
			after := withStatus(before, set)
			_, err := via(s.dynamic(voids).Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.ErrorContains(t, err, field+": null cannot be written")
			require.ErrorContains(t, err, "Status().Update")
			assert.True(t, apierrors.IsInvalid(err), "the API server's own words are wrapped")
			_, err = s.dynamic(voids).UpdateStatus(t.Context(), after, metav1.UpdateOptions{})
			require.NoError(t, err, "the remedy")

			// A null that is stored already stays while other fields change.
			before = s.readLoose(t, voids)
			after = withStatus(before, object{"phase": "Running"})
			_, err = via(s.dynamic(voids).Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.NoError(t, err)
		})
	}
}
