// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// This file finds values that do not simply follow a key and a separator:
// values that field errors quote, and pairs of a name and a value.

// rejected returns the place of the value that a field error at p quotes, and
// how sure it is. k8s.io/apimachinery pkg/util/validation/field writes such
// errors as `Invalid value: "x"`. If there is none, rejected returns p.
func (c *scanner) rejected(k kind, how strength, p int) (int, strength) {
	for _, what := range [...]string{"Invalid value: ", "Duplicate value: ", "Unsupported value: ", "Not found: "} {
		if !c.hasFold(p, what) {
			continue
		}
		c.looked += len(what)
		from := p + len(what)
		quoted := c.quote(from) > 0
		switch {
		case !quoted && what[0] != 'N':
			return from, loose
		case !quoted, what[0] == 'U' && c.isChoice(from), k == reference && c.isNameError(from):
			return p, how
		}
		return from, tight
	}
	return p, how
}

// isChoice reports whether the quoted text at p may be one of the values that a
// field accepts, such as "OAuth2": few bytes, or no digits.
func (c *scanner) isChoice(p int) bool {
	const longest = 8
	from := p + c.quote(p)
	to := c.run(from, longestWord, isWord)
	return c.quote(to) > 0 && (to-from <= longest || !strings.ContainsAny(c.s[from:to], digits))
}

// isNameError reports whether the error says that the quoted text at p is not a
// valid name of an object.
func (c *scanner) isNameError(p int) bool {
	const longest = 256
	n := c.quote(p)
	s := c.s[p+n : min(p+n+longest, len(c.s))]
	c.looked += len(s)
	_, complaint, _ := strings.Cut(s, c.s[p:p+n]+": a ")
	return strings.HasPrefix(complaint, "lowercase RFC 1") || strings.HasPrefix(complaint, "DNS-1")
}

// named masks the value in a pair of fields whose first field is the name, such
// as {"name":"DB_PASSWORD","value":"x"} in a container. The name is at p. If
// the name is not sensitive, or no value follows, named returns 0.
func (c *scanner) named(p int) int {
	const longest = 128
	p = c.gap(p, " ")
	p += c.quote(p)
	to := c.run(p, longest, isKey)
	k := kindOf(c.s[p:to])
	if k == harmless {
		return 0
	}
	const value = "value"
	p = c.gap(to, " \t\n\r\"'`\\,;")
	if p > to && c.s[p-1] == '\\' && c.has(p, "n ") { // an escaped line break
		p = c.gap(p+1, " ")
	}
	if !c.hasFold(p, value) {
		return 0
	}
	p = c.gap(p+len(value), " \"'`\\")
	if p == len(c.s) || c.s[p] != ':' && c.s[p] != '=' {
		return 0
	}
	from := c.scalar(p + 1)
	return c.lines(p+1, from, c.value(k, tight, from))
}

// telegram masks the token of a Telegram bot: digits, a colon and 35 bytes that
// begin with AA. It returns 0 when there is none at p.
func (c *scanner) telegram(key string, p int) int {
	const length = 35
	key = strings.TrimPrefix(key, "bot")
	if len(key) < 8 || len(key) > 10 || !all(key, isDigit) || !c.has(p, "AA") || c.wordEnd(p) != p+length {
		return 0
	}
	c.mask(p, p+length)
	return p + length
}

// isCount reports whether the number at p counts passed tests: the number of
// failed ones follows it.
func (c *scanner) isCount(p int) bool {
	const longest = 8
	from := c.gap(p, " ")
	to := c.run(from, longest, isDigit)
	next := c.gap(to, " ,;")
	return to > from && next > to && c.hasFold(next, "fail")
}
