// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Text replaces every credential that a rule finds in s by [Mask]. If no rule
// finds one, it returns s itself. A redacted text does not change if it is
// redacted again. The time is linear in len(s).
func Text(s string) string { return untilStable(s, compiled().mask) }

// mostPasses is how often a text is masked. A mask may show that the text next
// to it belongs to a credential. No known text needs more than three passes.
const mostPasses = 8

// untilStable calls mask until s no longer changes. A text that changes each time is
// hidden as a whole.
func untilStable(s string, mask func(string) string) string {
	for range mostPasses {
		masked := mask(s)
		if masked == s {
			return s
		}
		s = masked
	}
	return Mask
}

// A span is a part of a text: from its first byte to the byte after its last.
type span struct{ from, to int }

// mask returns s with each credential masked. It looks at s as it is, as a
// command if it has a list of arguments, and at what its escapes mean.
func (t *table) mask(s string) string {
	var found []span
	var views []view
	for _, v := range levels(s) {
		views = append(views, v)
		joined := v.joined()
		if joined.text != v.text {
			views = append(views, joined)
		}
	}
	for _, v := range views {
		found = append(found, v.sources(t.find(v.text))...)
	}
	if len(found) == 0 {
		return s
	}
	return hide(s, append(found, echoes(s, views, found)...))
}

// hide returns s with a mask for each of its parts. Parts that overlap get one.
func hide(s string, parts []span) string {
	var out strings.Builder
	copied := 0
	for _, m := range merge(append(parts, masksIn(s)...)) {
		out.WriteString(s[copied:m.from])
		out.WriteString(Mask)
		copied = m.to
	}
	out.WriteString(s[copied:])
	return out.String()
}

// masksIn returns the masks that s has already. None of them may be masked in
// part.
func masksIn(s string) []span {
	var masks []span
	for at := 0; ; {
		n := strings.Index(s[at:], Mask)
		if n < 0 {
			return masks
		}
		masks = append(masks, span{at + n, at + n + len(Mask)})
		at += n + len(Mask)
	}
}

// merge sorts the spans, and joins spans that overlap.
func merge(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var merged []span
	end := -1
	for _, next := range all {
		if next.from >= end {
			merged = append(merged, next)
			end = next.to
			continue
		}
		end = max(end, next.to)
		merged[len(merged)-1].to = end
	}
	return merged
}

// without returns the spans that overlap none of the others, which are sorted
// and apart.
func without(all, others []span) []span {
	return slices.DeleteFunc(all, func(s span) bool {
		i, _ := slices.BinarySearchFunc(others, s.from, func(o span, from int) int {
			return cmp.Compare(o.to, from+1)
		})
		return i < len(others) && others[i].from < s.to
	})
}
