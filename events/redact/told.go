// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// The values that more than a key and a separator tell: what field errors quote, pairs of a name and a value, lists of arguments.

// rejected is where the value stands that a field error at p quotes, as k8s.io/apimachinery pkg/util/validation/field writes
// it: `Invalid value: "x"`. It is p when none does.
func (c *scanner) rejected(k kind, how strength, p int) (int, strength) {
	for _, what := range [...]string{"Invalid value: ", "Duplicate value: ", "Unsupported value: ", "Not found: "} {
		from := p + len(what)
		if from > len(c.s) || !strings.EqualFold(c.s[p:from], what) {
			continue
		}
		c.looked += len(what)
		switch {
		case c.quote(from) == 0:
			if what[0] == 'N' {
				return p, how // what was not found is told in words
			}
			return from, loose
		case what[0] == 'U' && c.isChoice(from) || k == reference && c.isNameError(from):
			return p, how
		}
		return from, tight
	}
	return p, how
}

// isChoice reports whether what is quoted at p may be one of the values that a field knows, such as "OAuth2": few bytes, or no
// digits.
func (c *scanner) isChoice(p int) bool {
	const longest = 8
	from := p + c.quote(p)
	to := from
	for to < len(c.s) && to-from < longestWord && isWord(c.s[to]) {
		to++
	}
	c.looked += to - from
	return c.quote(to) > 0 && (to-from <= longest || !strings.ContainsAny(c.s[from:to], "0123456789"))
}

// isNameError reports whether what is quoted at p was meant to be the name of an object.
func (c *scanner) isNameError(p int) bool {
	const longest = 256
	n := c.quote(p)
	s := c.s[p+n : min(p+n+longest, len(c.s))]
	c.looked += len(s)
	_, complaint, _ := strings.Cut(s, c.s[p:p+n]+": a ")
	return strings.HasPrefix(complaint, "lowercase RFC 1") || strings.HasPrefix(complaint, "DNS-1")
}

// named masks the value of a pair whose key is told in another, such as {"name":"DB_PASSWORD","value":"x"} in a container. The
// name stands at p; it returns 0 when no value of a sensitive one follows.
func (c *scanner) named(p int) int {
	const longest = 128
	p = c.gap(p, " ")
	p += c.quote(p)
	to := p
	for to < len(c.s) && to-p < longest && (isWord(c.s[to]) || c.s[to] == '.') {
		to++
	}
	c.looked += to - p
	k := kindOf(c.s[p:to])
	if k == harmless {
		return 0
	}
	const value = "value"
	p = c.gap(to, " \t\n\r\"'`\\,;")
	if p > to && c.s[p-1] == '\\' && c.has(p, "n ") { // an escaped break of the line
		p = c.gap(p+1, " ")
	}
	if end := p + len(value); end > len(c.s) || !strings.EqualFold(c.s[p:end], value) {
		return 0
	}
	p = c.gap(p+len(value), " \"'`\\")
	if p == len(c.s) || c.s[p] != ':' && c.s[p] != '=' {
		return 0
	}
	return c.value(k, tight, p+1)
}

// gap is the place after the bytes at i that are in set.
func (c *scanner) gap(i int, set string) int {
	const longest = 64
	j := i
	for j < len(c.s) && j-i < longest && strings.IndexByte(set, c.s[j]) >= 0 {
		j++
	}
	c.looked += j - i
	return j
}

// next is where the argument after the flag stands that ends at j: after blanks, or quoted after the quote of the flag and a
// comma or blanks. It is j when none does.
func (c *scanner) next(j int) int {
	p := j
	if n := c.quote(j); n > 0 {
		p = c.gap(j+n, " ,")
		if p == j+n || !c.has(p, c.s[j:j+n]) || c.has(p+n, "-") {
			return j
		}
		return p
	}
	for p < len(c.s) && c.s[p] == ' ' {
		p++
	}
	return p
}
