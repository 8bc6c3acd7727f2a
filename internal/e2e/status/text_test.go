// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// TestConditionTypes: what the API server refuses is refused before it is sent,
// with the field's name, and nothing else is.
func TestConditionTypes(t *testing.T) {
	long := strings.Repeat("a", 250) + ".b/"
	cases := map[string]bool{
		"Ready": true, "r": true, "0": true, "Ready_2.x-y": true, "example.com/Ready": true, "a-b.c1/R": true,
		long + strings.Repeat("C", 316-len(long)): true, long + strings.Repeat("C", 317-len(long)): false,
		"": false, "-Ready": false, "Ready-": false, "Ready!": false, "a/b/c": false, "/Ready": false, "Example.com/Ready": false,
		"example..com/Ready": false, "example.com/": false, "-a.b/Ready": false, "Ré": false, "Ready\n": false,
	}
	s := newStage(t)
	s.object(t, runs, "a")
	before := s.read(t)
	for typ, want := range cases {
		condition := metav1.Condition{Type: typ, Status: metav1.ConditionTrue, Reason: "Ok", LastTransitionTime: metav1.Now()}
		raw, err := json.Marshal(object{"status": object{"conditions": []any{condition}}})
		require.NoError(t, err)
		_, err = s.runs.Patch(t.Context(), "a", types.MergePatchType, raw, metav1.PatchOptions{DryRun: []string{"All"}}, "status")
		assert.Equal(t, want, err == nil, "the API server on %q: %v", typ, err)

		after := before.DeepCopy()
		after.Status.Conditions = []metav1.Condition{condition}
		_, err = status.FieldNames{}.Patch(before, after, status.Facts{}, time.Now())
		assert.Equal(t, want, err == nil, "Patch on %q: %v", typ, err)
		if !want {
			assert.ErrorContains(t, err, "status.conditions[0].type")
		}
	}
}

// TestTextsThatDoNotFit: no error text, with any content, makes the API server
// refuse the status.
func TestTextsThatDoNotFit(t *testing.T) {
	texts := map[string]string{
		"Empty":      "",
		"Long":       strings.Repeat("x", 40_000),
		"LongRunes":  strings.Repeat("é", 20_000),
		"Sentence":   "dial tcp 10.0.0.1:443: connect: connection refused\n",
		"BinaryText": "\xff\xfe\x00\x01",
		"Symbols":    "::,,__::",
		"Digits":     "404",
		"HTML":       `<b>"&"</b>` + "\u2028",
	}
	s := newStage(t)
	s.object(t, runs, "a")
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			before := s.read(t)
			after := before.DeepCopy()
			status.SetCondition(&after.Status.Conditions,
				metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: text, Message: text}, time.Now())
			result, err := via(s.runs.Patch, status.Writer{}).Commit(t.Context(), before, after, status.Facts{})
			require.NoError(t, err)
			assert.Equal(t, status.Written, result)
			assert.Equal(t, s.read(t).ResourceVersion, after.ResourceVersion, "it is stored")
		})
	}
	after := s.read(t)
	after.Status.Conditions[0].Reason = "not a reason"
	_, err := s.runs.UpdateStatus(t.Context(), after, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsInvalid(err), "it does refuse such texts: %v", err)
}
