// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestEventName(t *testing.T) {
	const n = 0x17a3b4c5d6e7f809
	cases := map[string]struct {
		reason, object, want string
	}{
		"Plain":      {"The object's name says what the Event is about.", "run-1", "run-1.17a3b4c5d6e7f809"},
		"Dots":       {"A subdomain may have labels.", "a.b-c.d", "a.b-c.d.17a3b4c5d6e7f809"},
		"Upper":      {"Not every object's name is a subdomain: RBAC names are not.", "Admin", "event.17a3b4c5d6e7f809"},
		"Colon":      {"Names such as system:node are not.", "system:node", "event.17a3b4c5d6e7f809"},
		"Underscore": {"Nor those with an underscore.", "a_b", "event.17a3b4c5d6e7f809"},
		"Empty":      {"A reference may have no name.", "", "event.17a3b4c5d6e7f809"},
		"CutAtDot":   {"The cut must not leave a name that ends with a dot.", strings.Repeat("a", 235) + ".bcd", strings.Repeat("a", 235) + ".17a3b4c5d6e7f809"},
		"CutAtDash":  {"Nor with a hyphen.", strings.Repeat("a", 234) + "-.bcd", strings.Repeat("a", 234) + ".17a3b4c5d6e7f809"},
		"Longest":    {"253 bytes are the most.", strings.Repeat("a", 253), strings.Repeat("a", 236) + ".17a3b4c5d6e7f809"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := eventName(tc.object, n)
			assert.Empty(t, validation.IsDNS1123Subdomain(got), tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
		})
	}
}

func FuzzEventName(f *testing.F) {
	for _, s := range []string{"", "a", "a.b", "-a", "a-", "a..b", "a.-b", "A", "ä", "a\x00", strings.Repeat("a.", 150), strings.Repeat("-", 300)} {
		f.Add(s, int64(1))
	}
	f.Fuzz(func(t *testing.T, object string, number int64) {
		number = max(number, -number, 1) // of nanoseconds since 1970
		if number < 0 {
			number = math.MaxInt64
		}
		require.Empty(t, validation.IsDNS1123Subdomain(eventName(object, number)))
	})
}

func TestSeriesPatch(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.FixedZone("", 3600))
	s := eventsv1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(at)}
	patch, err := seriesPatch(s, false)
	require.NoError(t, err)
	assert.JSONEq(t, `{"series":{"count":7,"lastObservedTime":"2026-01-02T02:04:05.000678Z"}}`, string(patch))
	core, err := seriesPatch(s, true)
	require.NoError(t, err)
	assert.JSONEq(t, `{"series":{"count":7,"lastObservedTime":"2026-01-02T02:04:05.000678Z"},
		"count":7,"lastTimestamp":"2026-01-02T02:04:05Z"}`, string(core))
	var back eventsv1.Event
	require.NoError(t, json.Unmarshal(core, &back))
	assert.True(t, at.Equal(back.Series.LastObservedTime.Time), "the types of the API read it back")
}

func TestCounts_DoNotOverflow(t *testing.T) {
	assert.Equal(t, int32(math.MaxInt32), count32(math.MaxInt32+1))
	assert.Equal(t, int32(2), count32(2))
}
