// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
)

// An index finds any of many texts, each of six bytes or more, in one pass. The
// head of a text is its first six bytes. A filter with a bit for each
// head rules out most places at the cost of a multiplication. The zero index is
// empty.
type index struct {
	heads  map[uint64][]string // the texts of one head, the longest first
	filter [1 << 16 / 64]uint64
	gone   int // texts removed since the filter was made
}

// add adds text, once for each value that has this form.
func (x *index) add(text string) {
	if x.heads == nil {
		x.heads = make(map[uint64][]string)
	}
	h := headOf(text)
	x.heads[h] = append(x.heads[h], text)
	slices.SortFunc(x.heads[h], func(a, b string) int { return len(b) - len(a) })
	x.addHead(h)
}

// isFull reports whether the index has text, or enough texts with its head.
func (x *index) isFull(text string) bool {
	alike := x.heads[headOf(text)]
	return len(alike) == mostEchoes || slices.Contains(alike, text)
}

// remove undoes one add of text.
func (x *index) remove(text string) {
	h := headOf(text)
	i := slices.Index(x.heads[h], text)
	if i < 0 {
		return
	}
	x.heads[h] = slices.Delete(x.heads[h], i, i+1)
	if len(x.heads[h]) == 0 {
		delete(x.heads, h)
	}
	x.gone++
	if x.gone > len(x.heads) {
		x.gone = 0
		clear(x.filter[:])
		for h := range x.heads {
			x.addHead(h)
		}
	}
}

// mask returns s with every text of the index masked. A text may be escaped,
// and escaped again with the text that it is part of.
func (x *index) mask(s string) string {
	var found []span
	for _, v := range levels(s) {
		folded := v.folded()
		found = append(found, folded.sources(x.find(folded.text))...)
	}
	if len(found) == 0 {
		return s
	}
	return hide(s, found)
}

// find returns where s has a text of the index, from left to right and the
// longest first.
func (x *index) find(s string) []span {
	var found []span
	for i := 0; i+headLength <= len(s); i++ {
		h := headOf(s[i:])
		if !x.hasHead(h) {
			continue
		}
		n := x.longest(h, s[i:])
		if n == 0 {
			continue
		}
		found = append(found, span{i, i + n})
		i += n - 1
	}
	return found
}

// longest returns the length of the longest text that s begins with, or 0. If
// the text has been cut, s may end within one.
func (x *index) longest(h uint64, s string) int {
	for _, text := range x.heads[h] {
		switch {
		case strings.HasPrefix(s, text):
			return len(text)
		case len(s) >= minCut && strings.HasPrefix(text, s):
			return len(s) // the text was cut within the value
		}
	}
	return 0
}

// minCut is the shortest beginning of a value that is masked at the end of a
// text.
const minCut = 32

// headLength is the length of a head.
const headLength = 6

func headOf(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40
}

func bitOf(head uint64) uint64 { return head * 0x9e3779b97f4a7c15 >> 48 }

func (x *index) addHead(head uint64) {
	bit := bitOf(head)
	x.filter[bit/64] |= 1 << (bit % 64)
}

func (x *index) hasHead(head uint64) bool {
	bit := bitOf(head)
	return x.filter[bit/64]&(1<<(bit%64)) != 0
}
