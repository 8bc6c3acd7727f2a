// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "slices"

// An index finds any of many texts, each of eight bytes or more, in one pass. The first eight bytes of a text are its head. A
// filter with a bit for each head tells most places of a text apart from all heads, at the cost of a multiplication. The zero
// index is empty.
type index struct {
	heads  map[uint64][]form // the forms of one head, the longest first
	filter [1 << 16 / 64]uint64
	gone   int // forms removed since the filter was made
}

// A form belongs to as many values as have it.
type form struct {
	text   string
	values int
}

func (x *index) add(text string) {
	h := headOf(text)
	for i := range x.heads[h] {
		if f := &x.heads[h][i]; f.text == text {
			f.values++
			return
		}
	}
	if x.heads == nil {
		x.heads = make(map[uint64][]form)
	}
	x.heads[h] = append(x.heads[h], form{text, 1})
	slices.SortFunc(x.heads[h], func(a, b form) int { return len(b.text) - len(a.text) })
	x.mark(h)
}

func (x *index) remove(text string) {
	h := headOf(text)
	i := slices.IndexFunc(x.heads[h], func(f form) bool { return f.text == text })
	if i < 0 {
		return
	}
	if f := &x.heads[h][i]; f.values > 1 {
		f.values--
		return
	}
	if x.heads[h] = slices.Delete(x.heads[h], i, i+1); len(x.heads[h]) == 0 {
		delete(x.heads, h)
	}
	if x.gone++; x.gone > len(x.heads) {
		x.gone = 0
		clear(x.filter[:])
		for h := range x.heads {
			x.mark(h)
		}
	}
}

// mask returns s with every form masked, from left to right and the longest first, and whether there was any.
func (x *index) mask(s string) (masked string, found bool) {
	var out []byte
	var h uint64
	copied := 0
	filled := 0 // bytes of h
	for i := 0; i < len(s); i++ {
		h = h>>8 | uint64(s[i])<<56
		if filled++; filled < minValue || !x.marked(h) {
			continue
		}
		from := i + 1 - minValue
		n := x.longest(h, s[from:])
		if n == 0 {
			continue
		}
		out = append(append(out, s[copied:from]...), Mask...)
		copied = from + n
		i, filled = copied-1, 0
	}
	if out == nil {
		return s, false
	}
	return string(append(out, s[copied:]...)), true
}

// longest is the length of the longest form that s begins with; 0 when it begins with none.
func (x *index) longest(h uint64, s string) int {
	for _, f := range x.heads[h] {
		if len(s) >= len(f.text) && s[:len(f.text)] == f.text {
			return len(f.text)
		}
	}
	return 0
}

func headOf(text string) uint64 {
	var h uint64
	for i := range minValue {
		h = h>>8 | uint64(text[i])<<56
	}
	return h
}

func (x *index) mark(h uint64) {
	bit := h * 0x9e3779b97f4a7c15 >> 48
	x.filter[bit/64] |= 1 << (bit % 64)
}

func (x *index) marked(h uint64) bool {
	bit := h * 0x9e3779b97f4a7c15 >> 48
	return x.filter[bit/64]&(1<<(bit%64)) != 0
}
