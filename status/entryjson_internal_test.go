// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A field that metav1.Condition got would be lost: appendCondition must learn it.
func TestAppendConditionKnowsAllFields(t *testing.T) {
	assert.Equal(t, 6, reflect.TypeFor[metav1.Condition]().NumField())
}

// Conditions must be written as encoding/json does it, whatever they hold.
func FuzzAppendCondition(f *testing.F) {
	f.Add("Ready", "True", "AsExpected", "all is well", int64(3), int64(1780315200), 0)
	f.Add("", "", "", "", int64(0), int64(0), 0)
	f.Add("example.com/Ready", "Unknown", "<&>", "\"quoted\" \\ \n\t\x00\xff\u2028 ü 😀", int64(-1), int64(-1), 3600)
	f.Fuzz(func(t *testing.T, typ, status, reason, message string, generation, seconds int64, offset int) {
		c := metav1.Condition{
			Type: typ, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, ObservedGeneration: generation,
		}
		if seconds != 0 {
			c.LastTransitionTime = metav1.NewTime(time.Unix(seconds, 1).In(time.FixedZone("", offset%86400)))
		}
		raw, err := json.Marshal(c)
		require.NoError(t, err)
		assert.Equal(t, "x"+string(canonical(raw)), string(appendCondition([]byte("x"), c)))
	})
}

func TestAppendEntries(t *testing.T) {
	a, b := entry{Condition: metav1.Condition{Type: "A"}}, entry{Condition: metav1.Condition{Type: "B"}}
	rawOne := parseEntry(map[string]any{"type": "A", "status": "", "reason": "", "message": "", "gone": nil})
	none := parseEntry(nil)
	const jsonA, jsonB = `{"message":"","reason":"","status":"","type":"A"}`, `{"message":"","reason":"","status":"","type":"B"}`
	cases := map[string]struct {
		reason    string
		was, list []entry
		want      string
		differs   bool
	}{
		"Same":     {"Nothing to write.", []entry{a, b}, []entry{a, b}, `[` + jsonA + `,` + jsonB + `]`, false},
		"Spelling": {"A null is as good as nothing.", []entry{a}, []entry{rawOne}, `[` + jsonA + `]`, false},
		"First":    {"Behind a difference nothing is compared.", []entry{b, b}, []entry{a, b}, `[` + jsonA + `,` + jsonB + `]`, true},
		"Last":     {"Every entry counts.", []entry{a, a}, []entry{a, b}, `[` + jsonA + `,` + jsonB + `]`, true},
		"Longer":   {"A new one.", []entry{a}, []entry{a, b}, `[` + jsonA + `,` + jsonB + `]`, true},
		"Shorter":  {"One that is gone.", []entry{a, b}, []entry{a}, `[` + jsonA + `]`, true},
		"New":      {"There was no list.", nil, []entry{a}, `[` + jsonA + `]`, true},
		"Null":     {"An element that is no condition goes through.", []entry{none}, []entry{none, b}, `[null,` + jsonB + `]`, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, differs, err := appendEntries(nil, tc.was, tc.list)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(got), tc.reason)
			assert.Equal(t, tc.differs, differs, tc.reason)
		})
	}
}
