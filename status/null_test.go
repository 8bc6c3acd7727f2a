// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/status"
)

// A merge patch cannot carry null, so a field that the schema requires and
// accepts as null cannot be written by one.

type nullable struct {
	status.Stamp `json:",inline"`

	Verdict *string        `json:"verdict"`
	Nodes   []string       `json:"nodes"`
	Labels  map[string]any `json:"labels,omitempty"`
}

func TestCommit_NamesNullsThatTheSchemaRequires(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		requires []string
		says     string
	}{
		"Pointer": {"A nil pointer without omitempty is null.", []string{"verdict"}, "status.verdict: null cannot be written by a merge patch; set a value, " +
			"or if the schema accepts null use Status().Update or a JSON Patch"},
		"Slice": {"So is a nil slice.", []string{"nodes"}, "status.nodes: null cannot be written"},
		"Both":  {"All are named.", []string{"verdict", "nodes"}, "status.nodes, status.verdict: null cannot be written"},
		"One":   {"A field that is not null is the caller's mistake.", []string{"verdict", "other"}, "patching a: status.verdict: null cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.requires = tc.requires
			before, after := get[kind[nullable]](t, s, "a"), get[kind[nullable]](t, s, "a")
			after.Status.Labels = map[string]any{"a": "b"}
			kept := snapshot(after)
			result, err := via(client[kind[nullable]]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.ErrorContains(t, err, tc.says, tc.reason)
			assert.True(t, apierrors.IsInvalid(err))
			assert.Empty(t, result)
			assert.Equal(t, kept, snapshot(after))
			assert.Equal(t, 1, s.sent())
		})
	}
	t.Run("NoNull", func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.requires = []string{"other"}
		before, after := get[kind[nullable]](t, s, "a"), get[kind[nullable]](t, s, "a")
		after.Status.Labels = map[string]any{"a": "b"}
		_, err := via(client[kind[nullable]]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.ErrorContains(t, err, "status.other: Required value")
		require.NotContains(t, err.Error(), "null cannot be written")
	})
}
