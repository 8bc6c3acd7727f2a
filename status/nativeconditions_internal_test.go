// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNativeConditions_AreReadAsTheirEncodedForm(t *testing.T) {
	since := metav1.NewTime(time.Date(2025, 6, 1, 12, 0, 0, 999, time.Local))
	for name, tc := range map[string]struct {
		reason string
		list   []metav1.Condition
	}{
		"Whole": {
			"Every field has its value.",
			[]metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ok", Message: "fine", LastTransitionTime: since, ObservedGeneration: 3}},
		},
		"Zero": {
			"Four texts are always encoded, the generation is left out, and a null time is no field.",
			[]metav1.Condition{{}},
		},
		"Twice": {
			"The second of a type has a key of its own.",
			[]metav1.Condition{{Type: "Ready"}, {Type: "Done"}, {Type: "Ready", Message: "again"}, {Type: "Ready"}},
		},
		"Escapes": {
			"What JSON escapes is the same text.",
			[]metav1.Condition{{Type: "Ready", Message: "<&>\u2028\x00\"\\"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			encoded, err := conditionsOf(&tc.list, decode(encode(tc.list)))
			require.NoError(t, err)
			assert.Equal(t, encoded, nativeConditionsOf(tc.list), tc.reason)
		})
	}
}
