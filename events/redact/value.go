// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A separator tells how sure it is that a value follows.
type strength uint8

const (
	loose    strength = iota // a colon and a blank: prose, or the name of an object, as well
	argument                 // a flag: prose as well
	tight                    // an equals sign, or a colon without a blank
)

// separator deals with the ':' or '=' at i.
func (c *scanner) separator(i int) int {
	if c.s[i] == ':' && c.has(i, "://") {
		c.colon = -1 // not one between a user and a password without a scheme
		return c.authority(i + len("://"))
	}
	if c.s[i] == ':' && c.colon < 0 {
		c.colon = i
	}
	key, ok := c.keyBefore(i)
	if !ok {
		return i + 1
	}
	start := c.key.from
	c.key = span{}
	p, how := i+1, tight
	if c.s[i] == ':' && p < len(c.s) && c.s[p] == '=' || c.s[i] == '=' && p < len(c.s) && c.s[p] == '>' {
		p++
	}
	if c.s[i] == ':' && p < len(c.s) && c.s[p] == ' ' && (c.quote(i-1) == 0 || c.quote(c.gap(p, " ")) == 0) {
		how = loose
	}
	if end := c.telegram(key, p); end > 0 {
		return end
	}
	k := kindOf(key)
	if k == reference && start > 0 && c.s[start-1] == ':' && c.s[i] == ':' {
		return i + 1 // part of a name, as in an ARN
	}
	if k == harmless && c.block == 0 {
		if c.s[i] == ':' {
			c.enter(key, p)
		}
		if strings.EqualFold(key, "name") || strings.EqualFold(key, "key") {
			if end := c.named(p); end > 0 {
				return end
			}
		}
		return i + 1
	}
	if strings.EqualFold(key, "pass") && c.isCount(p) {
		return p
	}
	return c.value(k, how, p)
}

// isCount reports whether the number of what failed follows the one at p.
func (c *scanner) isCount(p int) bool {
	const longest = 8
	from := c.gap(p, " ")
	to := from
	for to < len(c.s) && to-from < longest && isDigit(c.s[to]) {
		to++
	}
	c.looked += to - from
	next := c.gap(to, " ,;")
	return to > from && next > to && next+4 <= len(c.s) && strings.EqualFold(c.s[next:next+4], "fail")
}

// keyBefore is the word before the separator at i, with nothing but quotes, blanks and a bracket between.
func (c *scanner) keyBefore(i int) (string, bool) {
	if c.key.from == c.key.to || i-c.key.to > 4 {
		return "", false
	}
	for _, b := range []byte(c.s[c.key.to:i]) {
		if b != '"' && b != '\'' && b != '\\' && b != ' ' && (b != ']' || c.key.from > 0 && c.has(c.key.from-1, Mask)) {
			return "", false
		}
	}
	return c.s[c.key.from:c.key.to], true
}

// enter notes that the data of a Secret begins at p, as the API server echoes it when it cannot decode a manifest.
func (c *scanner) enter(key string, p int) {
	for p < len(c.s) && c.s[p] == ' ' {
		p++
	}
	c.looked++
	if p == len(c.s) || c.s[p] != '{' {
		return
	}
	switch key {
	case "stringData":
		c.block = stringData
	case "data":
		c.block = data
	}
}

// value deals with what follows a sensitive key and its separator, from p on, and returns where to go on.
func (c *scanner) value(k kind, how strength, p int) int {
	for p < len(c.s) && c.s[p] == ' ' {
		p++
	}
	if p, how = c.rejected(k, how, p); p == len(c.s) || c.has(p, Mask) {
		return p
	}
	if k == harmless && c.quote(p) == 0 {
		return p // in a Secret's data, values are strings
	}
	switch b := c.s[p]; {
	case c.quote(p) > 0:
		return c.quoted(k, how, p)
	case c.has(p, "[]uint8{"), c.has(p, "[]byte{"):
		return c.bracketed(p+strings.IndexByte(c.s[p:], '{'), '}')
	case b == '[':
		return c.bracketed(p, ']')
	case b == '{' || b == '(' || b == '<' || b == '*', c.has(p, "${"), c.has(p, "$("), b == '%' && !c.isEscape(p):
		return p // an object, a placeholder, a reference to a variable, a verb
	}
	if k == cookie {
		return c.cookies(p)
	}
	return c.bare(k, how, p)
}

func (c *scanner) isEscape(p int) bool {
	return p+2 < len(c.s) && isHex(c.s[p+1]) && isHex(c.s[p+2])
}

// quote is the length of the quote at p, which may be escaped; 0 when there is none.
func (c *scanner) quote(p int) int {
	switch {
	case p < 0 || p >= len(c.s):
		return 0
	case c.s[p] == '"' || c.s[p] == '\'' || c.s[p] == '`':
		return 1
	case c.s[p] == '\\' && p+1 < len(c.s) && (c.s[p+1] == '"' || c.s[p+1] == '\''):
		return 2
	}
	return 0
}

// quoted masks what stands between the quote at p and the next of its kind.
func (c *scanner) quoted(k kind, how strength, p int) int {
	n := c.quote(p)
	q := c.s[p : p+n]
	from := p + n
	to := len(c.s)
	for i := from; i < len(c.s); i++ {
		if c.s[i] == '\\' && (n == 1 || i+1 < len(c.s) && c.s[i+1] == '\\') {
			i++
			if n == 2 && c.has(i+1, `\`) {
				i += 2 // what it escapes is escaped itself
			}
			continue
		}
		if c.has(i, q) {
			to = i
			break
		}
	}
	c.looked += to - from
	v := c.s[from:to]
	if c.spares(k, how, v) || len(v) <= 1 || k == harmless && c.block == data && !isBase64(v) {
		return from
	}
	c.mask(from, to)
	return min(to+n, len(c.s))
}

// bracketed masks what stands between the bracket at p and closing.
func (c *scanner) bracketed(p int, closing byte) int {
	from := p + 1
	to := len(c.s)
	if n := strings.IndexByte(c.s[from:], closing); n >= 0 {
		to = from + n
	}
	c.looked += to - from
	if c.has(from, Mask) {
		return from
	}
	c.mask(from, to)
	return to
}

// bare masks the value at p, which nothing sets off but where it ends.
func (c *scanner) bare(k kind, how strength, p int) int {
	to := c.bareEnd(p)
	v := c.s[p:to]
	if isScheme(v) && to < len(c.s) && c.s[to] == ' ' {
		return c.value(credential, tight, to)
	}
	switch {
	case c.spares(k, how, v) || isURL(v) || strings.HasPrefix(v, "-----"):
		return p
	case how != tight && c.isProse(v, to):
		return p
	case len(v) <= 2 && all(v, isDigit):
		return p
	}
	c.mask(p, to)
	return to
}

// bareEnd is the end of the value at p: a blank, or a delimiter that is followed by what follows a value.
func (c *scanner) bareEnd(p int) int {
	if p > c.end {
		c.end = p
		for c.end < len(c.s) && !isBlank(c.s[c.end]) && !c.delimits(c.end) {
			if c.has(c.end, Mask) {
				c.end += len(Mask) - 1
			}
			c.end++
		}
		c.looked += c.end - p
	}
	return c.end
}

// delimits reports whether the byte at i ends a value. A credential may hold any of them, so what follows decides.
func (c *scanner) delimits(i int) bool {
	switch c.s[i] {
	case ',', ';', '&':
		return c.endsAt(i + 1)
	case '<', '\\':
		return true
	case '"', '\'', '`', ')', ']', '}', '>':
		return i+1 == len(c.s) || !isWord(c.s[i+1])
	}
	return false
}

// endsAt reports whether another key, or nothing, stands at i.
func (c *scanner) endsAt(i int) bool {
	if i == len(c.s) || isBlank(c.s[i]) || c.quote(i) > 0 {
		return true
	}
	j := i
	for j < len(c.s) && j-i < 40 && (isWord(c.s[j]) || c.s[j] == '.') {
		j++
	}
	c.looked += j - i
	return j > i && j < len(c.s) && (c.s[j] == '=' || c.s[j] == ':')
}

// cookies masks the pairs of a Cookie header at p.
func (c *scanner) cookies(p int) int {
	const longestName = 256
	to := c.bareEnd(p)
	if !strings.Contains(c.s[p:min(to, p+longestName)], "=") {
		return p
	}
	for to < len(c.s) && c.s[to] == ';' {
		next := to + 1
		for next < len(c.s) && c.s[next] == ' ' {
			next++
		}
		if next == len(c.s) || !c.endsAt(next) {
			break
		}
		to = c.bareEnd(next)
	}
	c.mask(p, to)
	return to
}
