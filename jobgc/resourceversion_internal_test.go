// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOlderVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		a, b      string
		older, ok bool
	}{
		"Same":            {"A version is not older than itself.", "42", "42", false, true},
		"Older":           {"Of the same length, the first digit that differs decides.", "41", "42", true, true},
		"Newer":           {"Of the same length, the first digit that differs decides.", "52", "49", false, true},
		"FewerDigits":     {"Versions are numbers, not text: 99 comes before 100.", "99", "100", true, true},
		"MoreDigits":      {"Versions are numbers, not text: 100 comes after 99.", "100", "99", false, true},
		"Beyond64Bits":    {"Kubernetes sets no limit on the length.", "99999999999999999999998", "99999999999999999999999", true, true},
		"EmptyStore":      {"A store before its first list has no version.", "", "42", false, false},
		"EmptyJob":        {"A fake client may set no version.", "42", "", false, false},
		"Zero":            {"In a list request 0 means any version, so no object has it.", "0", "42", false, false},
		"LeadingZero":     {"The API server writes none.", "42", "042", false, false},
		"Letters":         {"Another server may use opaque text.", "v1:42", "42", false, false},
		"LettersInMiddle": {"One letter makes it opaque.", "42", "4x2", false, false},
		"Negative":        {"A sign is not a digit.", "-42", "42", false, false},
		"Space":           {"A space is not a digit.", "42", " 42", false, false},
		"OtherDigits":     {"Only the digits of ASCII count.", "٤٢", "42", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			older, ok := olderVersion(tc.a, tc.b)
			assert.Equal(t, tc.ok, ok, tc.reason)
			assert.Equal(t, tc.older, older, tc.reason)
		})
	}
}
