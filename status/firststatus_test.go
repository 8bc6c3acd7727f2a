// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/status"
)

// The first status of an object may come from another writer. The schema then
// sets fields that this controller sets too.
func TestCommit_TheDefaultsOfTheFirstStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		before string // the status that was read
		live   string // what the other writer stored, with the defaults
		set    func(r *Report)
		names  status.FieldNames
		want   string // the stored fields; empty for a conflict
	}{
		"Text": {
			"No writer has decided on a default.", "", `{"text":"x","mode":"Auto"}`,
			func(r *Report) { r.Status.Mode = "Manual" },
			status.FieldNames{},
			`{"text":"x","mode":"Manual"}`,
		},
		"Object": {
			"An object keeps the defaults of its other fields.", "", `{"text":"x","extra":{"mode":"Auto","size":1}}`,
			func(r *Report) { r.Status.Extra = raw(`{"size":2}`) },
			status.FieldNames{},
			`{"text":"x","extra":{"mode":"Auto","size":2}}`,
		},
		"Condition": {
			"A condition may have a default too.", "", `{"text":"x","conditions":[{"type":"Ready","status":"Unknown","reason":"Waiting"}]}`,
			func(r *Report) { r.Status.Conditions = []metav1.Condition{cond("Ready", "False", "Pending")} },
			status.FieldNames{},
			`{"text":"x"}`,
		},
		"StatusDefault": {
			"A status that the schema sets on creation has all defaults from then on.", `{"observedGeneration":-1}`,
			`{"observedGeneration":-1,"mode":"Auto"}`, func(r *Report) { r.Status.Mode = "Manual" },
			status.FieldNames{},
			"",
		},
		"Reconciled": {
			"A replica of this controller has reported, which always sets the generation.", "", `{"observedGeneration":1,"mode":"Auto"}`,
			func(r *Report) { r.Status.Mode = "Manual" },
			status.FieldNames{},
			"",
		},
		"NotTheFirst": {
			"The defaults were there before: another writer changed the field.", `{"text":"x"}`, `{"text":"x","mode":"Auto"}`,
			func(r *Report) { r.Status.Mode = "Manual" },
			status.FieldNames{},
			"",
		},
		"SecondController": {
			"It does not know whether a replica of itself has reported.", "", `{"text":"x","mode":"Auto"}`,
			func(r *Report) { r.Status.Mode = "Manual" },
			status.FieldNames{ObservedGeneration: "-"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			if tc.before != "" {
				s.restatus("a", tc.before)
			}
			before, after := get[Report](t, s, "a"), get[Report](t, s, "a")
			tc.set(after)
			s.restatus("a", tc.live)
			result, err := via(client[Report]{s}.Patch, status.Writer{FieldNames: tc.names}).Commit(t.Context(), before, after, running)
			if tc.want == "" {
				require.ErrorIs(t, err, status.ErrFieldConflict, tc.reason)
				return
			}
			require.NoError(t, err, tc.reason)
			assert.Equal(t, status.Merged, result)
			var want map[string]any
			require.NoError(t, json.Unmarshal([]byte(tc.want), &want))
			stored := get[unstructured.Unstructured](t, s, "a").Object["status"].(map[string]any)
			for field, value := range want {
				assert.JSONEq(t, encode(t, value), encode(t, stored[field]), "%s: %s", field, tc.reason)
			}
			if after.Status.Conditions != nil {
				assert.Equal(t, "Pending", after.Status.Conditions[0].Reason, tc.reason)
			}
		})
	}
}

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
