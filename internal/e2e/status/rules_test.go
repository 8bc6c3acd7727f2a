// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/status/statustest"
)

// The rules, tested with a writer that does not keep the contract.

// stored is the status before each attempt.
const stored = `{"observedGeneration":3,"updatedAt":"2025-06-01T12:30:00Z","phase":"Succeeded",
	"START":"2025-06-01T12:00:00Z","END":"2025-06-01T12:30:00Z"}`

// underRules are the kind of controller-gen, and the kind with other names and
// a default.
var underRules = map[schema.GroupVersionResource]names{runs: {"AgentRun", "startedAt", "finishedAt"}, tasks: {"Task", "startTime", "completionTime"}}

// TestRulesRefuseEveryBreach: whoever writes, and however.
//
//req:shows S3
func TestRulesRefuseEveryBreach(t *testing.T) {
	const back, moved, dropped = "observedGeneration may not go back", "may not change once set", "may not be dropped"
	cases := map[string]struct {
		try attempt
		why string
	}{
		"GenerationBack":        {merge(`{"status":{"observedGeneration":2}}`), back},
		"GenerationToZero":      {merge(`{"status":{"observedGeneration":0}}`), back},
		"GenerationCleared":     {merge(`{"status":{"observedGeneration":null}}`), back},
		"StartMoved":            {merge(`{"status":{"START":"2025-06-01T12:00:01Z"}}`), moved},
		"StartEarlier":          {merge(`{"status":{"START":"2025-06-01T11:59:59.999Z"}}`), moved},
		"StartInAnotherZone":    {merge(`{"status":{"START":"2025-06-01T12:00:00+02:00"}}`), moved},
		"StartCleared":          {merge(`{"status":{"START":null}}`), moved},
		"StartRemoved":          {jsonPatch(`[{"op":"remove","path":"/status/START"}]`), moved},
		"EndMoved":              {merge(`{"status":{"END":"2025-06-01T12:31:00Z"}}`), moved},
		"EndCleared":            {merge(`{"status":{"END":null}}`), moved},
		"StatusNull":            {merge(`{"status":null}`), dropped},
		"StatusRemoved":         {jsonPatch(`[{"op":"remove","path":"/status"}]`), dropped},
		"StatusLeftOutOfAPut":   {put(""), dropped},
		"StatusEmptyInAPut":     {put(`{}`), back},
		"FieldLeftOutOfAPut":    {put(`{"observedGeneration":3,"START":"2025-06-01T12:00:00Z"}`), moved},
		"GenerationBackByApply": {apply(`{"observedGeneration":1}`), back},
		"StartMovedByApply":     {apply(`{"START":"2025-06-01T13:00:00Z"}`), moved},
		"AllAtOnceByJSONPatch":  {jsonPatch(`[{"op":"replace","path":"/status","value":{"observedGeneration":1}}]`), back},
	}
	for kind, n := range underRules {
		s := newStage(t)
		c := s.theirs.dynamic(kind)
		s.object(t, kind, "a")
		require.NoError(t, merge(`{"status":`+stored+`}`)(t, c, n), "the first status")
		before, err := c.Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		for name, tc := range cases {
			t.Run(kind.Resource+"/"+name, func(t *testing.T) {
				err := tc.try(t, c, n)
				require.Error(t, err)
				assert.True(t, apierrors.IsInvalid(err), "422, not %v", err)
				if kind == tasks && tc.why == dropped {
					tc.why = back // a default replaces a removed status with an older one
				}
				assert.Contains(t, err.Error(), tc.why, "it says which rule")
				after, err := c.Get(t.Context(), "a", metav1.GetOptions{})
				require.NoError(t, err)
				assert.Equal(t, before.Object, after.Object)
			})
		}
	}
}

func TestRulesAcceptAllThatIsLegal(t *testing.T) {
	cases := map[string]struct {
		reason string
		try    attempt
	}{
		"TheSameAgain":        {"A PUT of the stored object.", put(stored)},
		"WithMilliseconds":    {"A program that writes milliseconds means the same second.", merge(`{"status":{"START":"2025-06-01T12:00:00.123Z"}}`)},
		"InAnotherZone":       {"The same instant.", merge(`{"status":{"END":"2025-06-01T14:30:00+02:00"}}`)},
		"GenerationAdvances":  {"This is the normal case.", merge(`{"status":{"observedGeneration":4}}`)},
		"GenerationJumps":     {"Not every generation is reconciled.", merge(`{"status":{"observedGeneration":9007199254740993}}`)},
		"OtherFields":         {"Other fields are free.", merge(`{"status":{"phase":null,"conditions":null}}`)},
		"UpdatedAtBack":       {"The clock of another replica.", merge(`{"status":{"updatedAt":"2020-01-01T00:00:00Z"}}`)},
		"UpdatedAtCleared":    {"No rule covers it.", merge(`{"status":{"updatedAt":null}}`)},
		"Applied":             {"An apply of one field leaves the others.", apply(`{"phase":"Failed"}`)},
		"SpecPatched":         {"A user's change.", mergeObject(`{"spec":{"image":"new"}}`)},
		"SpecPutWithStatus":   {"Like kubectl replace.", putObject(stored)},
		"SpecPutWithout":      {"Like kubectl replace with a user's file: the status stays.", putObject("")},
		"SpecPutWithAnother":  {"A status sent with the object itself is ignored.", putObject(`{"observedGeneration":1}`)},
		"StatusNullOfAnother": {"A null in the object itself does not remove the status.", mergeObject(`{"status":null}`)},
		"Labelled":            {"Metadata.", mergeObject(`{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/hold"]}}`)},
		"Deleted":             {"A deletion.", remove},
	}
	for kind, n := range underRules {
		for name, tc := range cases {
			t.Run(kind.Resource+"/"+name, func(t *testing.T) {
				s := newStage(t)
				c := s.theirs.dynamic(kind)
				s.object(t, kind, "a")
				require.NoError(t, merge(`{"status":{"phase":"Pending"}}`)(t, c, n), "a status with none of the fields")
				require.NoError(t, merge(`{"status":`+stored+`}`)(t, c, n), "which then are set")
				before := n.stamp(t, c)
				require.NoError(t, tc.try(t, c, n), tc.reason)
				if name != "Deleted" {
					after := n.stamp(t, c)
					breaches := statustest.Check(before, after, after.ObservedGeneration)
					assert.Equal(t, name == "UpdatedAtCleared", len(breaches) > 0, "Check finds the same, and the breach that no rule finds: %v", breaches)
				}
			})
		}
	}
}
