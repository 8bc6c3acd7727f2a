// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"strings"
)

// olderVersion reports whether the resource version a comes before b. ok is
// false unless both are positive decimal numbers, since other versions have no
// order. apimachinery has a function for this since v0.35.
func olderVersion(a, b string) (older, ok bool) {
	if !isVersion(a) || !isVersion(b) {
		return false, false
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0, true
}

// isVersion is true for decimal digits without a leading zero, of any length.
func isVersion(s string) bool {
	return s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}
