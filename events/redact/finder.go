// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// find returns what the rules mask in s.
func (t *table) find(s string) []span {
	f := finder{table: t, s: s}
	f.all()
	return without(f.mask, merge(f.keep))
}

// A finder goes over a text once, and tries the rules whose keyword it meets.
type finder struct {
	*table

	s     string
	i     int
	word  int   // where the word at i begins
	blank int   // the place after the last blank or quote
	token int   // where the run of bytes of a token at i begins
	next  []int // by rule: where it may be tried next
	key   []int // by key: the end of the last word that was looked at
	mask  []span
	keep  []span // wins over mask
	value int    // the end of the last value that is masked: no key is in it
	shown int    // bytes that rules were tried on, for the test of linear time
}

// all goes over the text.
func (f *finder) all() {
	for f.i = range len(f.s) {
		f.step()
	}
	f.shape(len(f.s))
}

// step looks at the byte at f.i.
func (f *finder) step() {
	b := f.classes[f.s[f.i]]
	if b&token == 0 {
		f.shape(f.i)
		f.token = f.i + f.escape()
	}
	if b&word == 0 {
		f.word = f.i + f.escape()
	}
	if b&delimiter != 0 {
		f.blank = f.i + 1
	}
	if f.i+1 == len(f.s) {
		return
	}
	h := headAt(f.s, f.i)
	if !f.begins[h] {
		return
	}
	for _, i := range f.heads[h] {
		k := f.keywords[i]
		if hasFold(f.s[f.i:], k.text) {
			f.meet(k)
		}
	}
}

// prepare makes room for the notes by rule and by key. Most texts need
// none.
func (f *finder) prepare() {
	if f.next == nil {
		f.next = make([]int, len(f.rules))
		f.key = make([]int, len(f.keys))
	}
}

// farthest is the distance from a starred keyword back to where its rules
// begin.
const farthest = 200

// meet tries the rules of the keyword at f.i.
func (f *finder) meet(k keyword) {
	f.prepare()
	from := f.i
	switch k.begin {
	case atKeyword:
	case atWord:
		from = min(f.word, f.i)
	case atBlank:
		from = max(f.blank, f.i-farthest)
	}
	for _, r := range k.rules {
		f.tryFrom(r, k.begin, from)
	}
	for _, key := range k.keys {
		f.tryKey(key, from)
	}
}

// tryFrom tries a rule at from. After a blank, several of its values may be in
// one run of text: it is tried after the last one.
func (f *finder) tryFrom(r int, where begin, from int) {
	if where == atBlank {
		from = max(from, f.next[r])
	}
	if from > f.i {
		return
	}
	f.try(r, from)
}

// tryKey tries the rules of a key at the end of the word at from, if it is such
// a key.
func (f *finder) tryKey(key, from int) {
	seen := max(f.key[key], f.value)
	if from < seen {
		return
	}
	end := f.i
	for end < len(f.s) && f.classes[f.s[end]]&word != 0 {
		end++
	}
	f.key[key] = end
	k := f.keys[key]
	if !k.find.MatchString(f.s[from:end]) {
		return
	}
	for _, r := range k.rules {
		f.try(r, end)
	}
}

// shape tries the rules without a keyword at the run of bytes of a token that
// ends at end.
func (f *finder) shape(end int) {
	const shortest = 20
	if end-f.token < shortest {
		return
	}
	f.prepare()
	for _, r := range f.shapes {
		f.try(r, f.token)
	}
	if !f.isMixed(end) {
		return
	}
	for _, r := range f.mixtures {
		f.try(r, f.token)
	}
}

// isMixed reports whether the run that ends at end has upper case, lower case
// and digits.
func (f *finder) isMixed(end int) bool {
	const all = upper | lower | digit
	var has class
	for i := f.token; i < end; i++ {
		has |= f.classes[f.s[i]]
	}
	return has&all == all
}

// escape returns the length of the escape at f.i, or 1 if there is none.
func (f *finder) escape() int {
	_, length := escape(f.s[f.i:])
	return max(1, length)
}

// longestKept is the longest value that is searched again after it was kept.
const longestKept = 512

// try applies a rule at from, unless it was applied there, or found something
// that reaches beyond.
func (f *finder) try(r, from int) {
	if from < f.next[r] {
		return
	}
	f.next[r] = from + 1
	m := f.match(r, from)
	if m == nil {
		return
	}
	rule := f.rules[r]()
	for group := 1; group < len(m)/2; group++ {
		value := span{m[2*group], m[2*group+1]}
		switch {
		case value.from >= value.to:
		case rule.stays[group]:
			f.keep = append(f.keep, value)
		case rule.each != nil:
			f.tryEach(r, value)
		default:
			f.hide(r, value)
		}
	}
}

// hide masks a value that a rule found, unless the rule keeps it.
func (f *finder) hide(r int, v span) {
	kept := f.rules[r]().keeps(f.s[v.from:v.to])
	if kept && v.to-v.from <= longestKept {
		return // a key may be in it
	}
	f.next[r] = max(f.next[r], v.to)
	f.value = max(f.value, v.to)
	if !kept {
		f.mask = append(f.mask, v)
	}
}

// tryEach masks the values within a part of the text.
func (f *finder) tryEach(r int, part span) {
	f.next[r] = max(f.next[r], part.to)
	for _, m := range f.rules[r]().each.FindAllStringSubmatchIndex(f.s[part.from:part.to], -1) {
		for group := 1; group < len(m)/2; group++ {
			v := span{part.from + m[2*group], part.from + m[2*group+1]}
			if m[2*group] < m[2*group+1] {
				f.hide(r, v)
			}
		}
	}
}

// keeps reports whether the value stays.
func (c compiledRule) keeps(value string) bool {
	if c.keep == nil {
		return false
	}
	return c.keep.MatchString(value)
}

// match returns the groups of the rule at from, as places in s. A rule sees the
// next 256 bytes. It sees more only if its match reaches the end of these.
func (f *finder) match(r, from int) []int {
	for size := 256; ; size *= 8 {
		near := f.s[from:min(from+size, len(f.s))]
		f.shown += len(near)
		m := f.rules[r]().find.FindStringSubmatchIndex(near)
		if m == nil {
			return nil
		}
		cut := from+len(near) < len(f.s)
		if cut && m[1] == len(near) {
			continue
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += from
			}
		}
		return m
	}
}

func hasFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	return strings.EqualFold(s[:len(prefix)], prefix)
}
