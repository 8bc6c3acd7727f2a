// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A rule is a line of the table in the files rules_*.go. Either keys or
// keywords say where it is tried. A rule with neither is tried at each run of
// 20 bytes or more that may be a token.
type rule struct {
	name string
	// after are the names of keys, separated by blanks: find begins where
	// such a key ends.
	after string
	// keywords, separated by blanks, have any case. Find begins at the word
	// that has one, or at the keyword itself if that does not begin like a
	// word. With a star before the keyword, find begins after the last blank
	// or quote, 200 bytes before the keyword at most.
	keywords string
	// mixed, for a rule without keywords: the run has upper case, lower case
	// and digits.
	mixed bool
	// find is a regular expression. Each of its groups is masked. A group
	// named keep stays, even if another rule finds it. Names in braces are the
	// expressions in fragments.go. {keyword} is any of the keywords.
	find string
	// each, if set, is searched within the group, and its groups are masked.
	each string
	// keep is a regular expression for the whole of a value that stays.
	keep string
	// leak is an example, with << and >> around what is masked.
	leak string
	// harmless is a counterexample, which stays.
	harmless string
}

// A key says that a value follows, and which kind of value.
type key struct {
	name     string
	keywords string // one of them is in the key
	find     string // a regular expression for the whole word
	example  string
	harmless string // a word that has a keyword, and is another key
}

// A table is the compiled form of the keys and rules. Most rules are never
// tried, and all of them would take 50 milliseconds and 4 MiB in each process:
// a rule is compiled when it is tried for the first time.
type table struct {
	rules    []func() compiledRule
	keys     []compiledKey
	keywords []keyword
	heads    map[head][]int // the keywords that have this head
	begins   [1 << 16]bool  // by head: most places of a text begin no keyword
	shapes   []int          // rules without a keyword
	mixtures []int          // the shapes that need a mixed run
	classes  [1 << 8]class  // by byte
}

type compiledRule struct {
	find  *regexp.Regexp
	each  *regexp.Regexp
	keep  *regexp.Regexp
	stays []bool // by group: it is named keep
}

type compiledKey struct {
	find  *regexp.Regexp
	rules []int
}

// A keyword belongs to rules, and says where they begin, or to keys.
type keyword struct {
	text  string
	begin begin
	rules []int
	keys  []int
}

// A begin is the place where a rule is tried.
type begin uint8

const (
	atKeyword begin = iota
	atWord
	atBlank // after the last blank or quote
)

// A head is the first two bytes of a keyword, without their case.
type head uint16

func headAt(s string, i int) head {
	const noCase = 0x2020
	return head(s[i]) | head(s[i+1])<<8 | noCase
}

// compiled returns the table.
var compiled = sync.OnceValue(func() *table { //nolint:gochecknoglobals // a constant that takes time to make
	return compile(keys(), allRules())
})

// allRules returns the table.
func allRules() []rule {
	return slices.Concat(keyRules(), flagRules(), manifestRules(), urlRules(), sqlRules(), tokenRules())
}

func compile(keys []key, rules []rule) *table {
	t := &table{heads: make(map[head][]int), classes: classes()}
	named := make(map[string]int)
	for i, k := range keys {
		named[k.name] = i
		find := regexp.MustCompile(`\A(?:` + expand(k.find, k.keywords) + `)\z`)
		t.keys = append(t.keys, compiledKey{find: find})
		for word := range strings.FieldsSeq(k.keywords) {
			known := t.keyword(word)
			known.keys = append(known.keys, i)
		}
	}
	for i, r := range rules {
		t.rules = append(t.rules, sync.OnceValue(func() compiledRule { return compileRule(r) }))
		for name := range strings.FieldsSeq(r.after) {
			k := &t.keys[named[name]]
			k.rules = append(k.rules, i)
		}
		for word := range strings.FieldsSeq(r.keywords) {
			known := t.keyword(word)
			known.rules = append(known.rules, i)
		}
		switch {
		case r.after+r.keywords != "":
		case r.mixed:
			t.mixtures = append(t.mixtures, i)
		default:
			t.shapes = append(t.shapes, i)
		}
	}
	return t
}

func compileRule(r rule) compiledRule {
	c := compiledRule{find: regexp.MustCompile(`\A(?:` + expand(r.find, r.keywords) + `)`)}
	if r.each != "" {
		c.each = regexp.MustCompile(expand(r.each, r.keywords))
	}
	if r.keep != "" {
		c.keep = regexp.MustCompile(`\A(?:` + expand(r.keep, r.keywords) + `)\z`)
	}
	for _, name := range c.find.SubexpNames() {
		c.stays = append(c.stays, name == "keep")
	}
	return c
}

// keyword returns the entry of a word, and adds it if need be.
func (t *table) keyword(entry string) *keyword {
	text, starred := strings.CutPrefix(entry, "*")
	i := slices.IndexFunc(t.keywords, func(k keyword) bool { return strings.EqualFold(k.text, text) })
	if i >= 0 {
		return &t.keywords[i]
	}
	k := keyword{text: text, begin: atKeyword}
	switch {
	case starred:
		k.begin = atBlank
	case t.classes[text[0]]&word != 0:
		k.begin = atWord
	}
	t.keywords = append(t.keywords, k)
	for _, h := range headsOf(text) {
		t.begins[h] = true
		t.heads[h] = append(t.heads[h], len(t.keywords)-1)
	}
	return &t.keywords[len(t.keywords)-1]
}

// headsOf returns the head of a keyword. One of a single byte has many.
func headsOf(keyword string) []head {
	if len(keyword) > 1 {
		return []head{headAt(keyword, 0)}
	}
	all := make(map[head]bool)
	for second := range 1 << 8 {
		all[headAt(string([]byte{keyword[0], byte(second)}), 0)] = true
	}
	return slices.Collect(maps.Keys(all))
}

// A class is what a byte may be part of: a word, which is a key or the name of
// an object, or a token without a key. A delimiter is a blank or a quote.
type class uint8

const (
	word class = 1 << iota
	token
	delimiter
	upper
	lower
	digit
)

func classes() (all [1 << 8]class) {
	for _, b := range []byte("-_") {
		all[b] = word | token
	}
	for b := 'a'; b <= 'z'; b++ {
		all[b] = word | token | lower
	}
	for b := 'A'; b <= 'Z'; b++ {
		all[b] = word | token | upper
	}
	for b := '0'; b <= '9'; b++ {
		all[b] = word | token | digit
	}
	for _, b := range []byte(".~+/") {
		all[b] = token
	}
	for _, b := range []byte(" \t\n\r\v\f\"'`") {
		all[b] = delimiter
	}
	return all
}
