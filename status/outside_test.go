// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

// A change outside of the status is not sent. Commit names it, and writes the
// status all the same.
func TestCommit_NamesChangesOutsideOfTheStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(r *Run)
		names  string // empty for no error
	}{
		"Finalizers":  {"The object would be deleted without the clean-up.", func(r *Run) { r.Finalizers = []string{"example.com/cleanup"} }, "metadata.finalizers"},
		"Labels":      {"A selector would not find the object.", func(r *Run) { r.Labels = map[string]string{"a": "b"} }, "metadata.labels"},
		"Annotations": {"An annotation often holds state.", func(r *Run) { r.Annotations = map[string]string{"a": "b"} }, "metadata.annotations"},
		"All": {"One error names all of them.", func(r *Run) {
			r.Labels = map[string]string{"a": "b"}
			r.Finalizers = []string{"example.com/cleanup"}
		}, "metadata.finalizers, metadata.labels"},
		"Kind":   {"A typed client leaves it out, and a caller may set it.", func(r *Run) { r.TypeMeta = metav1.TypeMeta{Kind: "Run", APIVersion: "example.com/v1"} }, ""},
		"Empty":  {"An empty map is stored like none.", func(r *Run) { r.Labels = map[string]string{}; r.Finalizers = []string{} }, ""},
		"Writes": {"A separate request has written it: its answer has another version.", func(r *Run) { r.Labels = map[string]string{"a": "b"}; r.ResourceVersion = "1" }, ""},
	} {
		for _, how := range []struct {
			name string
			set  func(r *Run)
			want status.Result
		}{
			{"Written", func(r *Run) { r.Status.Phase = "Running" }, status.Written},
			{"Unchanged", func(*Run) {}, status.Unchanged},
		} {
			t.Run(name+"/"+how.name, func(t *testing.T) {
				s, before := start(t)
				before.TypeMeta = metav1.TypeMeta{}
				after := before.DeepCopy()
				how.set(after)
				tc.change(after)
				var labels []string
				w := via(client[Run]{s}.Patch, status.Writer{OnCommit: func(label string, _ time.Duration) { labels = append(labels, label) }})
				result, err := w.Commit(t.Context(), before, after, status.Facts{})
				assert.Equal(t, how.want, result, tc.reason)
				assert.Equal(t, after.Status.Phase, get[Run](t, s, "a").Status.Phase, "the status is written")
				if tc.names == "" {
					require.NoError(t, err, tc.reason)
					return
				}
				require.ErrorContains(t, err, "status: commit: "+tc.names+" of a differ", tc.reason)
				require.ErrorContains(t, err, "send them with a separate request before")
				assert.Equal(t, []string{"error"}, labels)
			})
		}
	}
}

// A race is reported together with the change.
func TestCommit_JoinsTheErrors(t *testing.T) {
	s, before := start(t)
	after := withPhase(before, "Running")
	after.Labels = map[string]string{"a": "b"}
	s.restatus("a", `{"phase":"Failed"}`)
	_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, status.Facts{})
	require.ErrorIs(t, err, status.ErrFieldConflict)
	require.ErrorContains(t, err, "metadata.labels")
}
