// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLimits(t *testing.T) {
	cases := map[string]struct {
		reason     string
		limit      string
		ours, peer float64
		want       bool
	}{
		"AtMost":          {"The bound itself is within it.", "<= 20", 20, 0, true},
		"MoreThanAtMost":  {"One more is not.", "<= 20", 21, 0, false},
		"Equal":           {"Exactly one request is one, not none.", "= 1", 0, 0, false},
		"EqualHolds":      {"Nothing is nothing.", "= 0", 0, 0, true},
		"Ratio":           {"A fifth of the peer's.", "<= 0.2x", 20, 100, true},
		"RatioExceeded":   {"A little more than a fifth.", "<= 0.2x", 20.1, 100, false},
		"RatioOfNothing":  {"If the peer's number is 0, the library's must be 0.", "<= 0.2x", 1, 0, false},
		"RatioBothNone":   {"And none is.", "<= 0.2x", 0, 0, true},
		"OrLess":          {"A cost that is too small to notice.", "<= 2x or 50", 50, 1, true},
		"OrLessExceeded":  {"More than both.", "<= 2x or 50", 51, 25, false},
		"OrRatio":         {"The ratio alone is enough.", "<= 2x or 50", 100, 50, true},
		"RatioAboveEqual": {"A gate may allow the library to cost more.", "<= 2x", 150, 100, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, err := parseLimit(tc.limit)
			require.NoError(t, err)
			assert.Equal(t, tc.want, l.isSmall(tc.ours) || l.holds(tc.ours, tc.peer), tc.reason)
		})
	}
}

func TestLimitsThatCannotBeRead(t *testing.T) {
	for _, s := range []string{"", "20", "<=20", "< 20", "<= ", "<= twenty", "<= 0.2 x", "= x", "<= 2x or", "<= 2x or x"} {
		_, err := parseLimit(s)
		require.Error(t, err, s)
	}
}
