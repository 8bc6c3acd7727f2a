// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A strength is how sure a separator makes it that a value follows.
type strength uint8

const (
	loose    strength = iota // a colon and a blank: prose or the name of an object may follow
	argument                 // a flag: prose may follow
	tight                    // an equals sign, or a colon without a blank
)

// separator handles the ':' or '=' at i.
func (c *scanner) separator(i int) int {
	if c.s[i] == ':' && c.has(i, "://") {
		c.colon = -1 // it is not between a user and a password
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
	if c.s[i] == ':' && p < len(c.s) && isBlank(c.s[p]) && (c.quote(i-1) == 0 || c.quote(c.gap(p, " ")) == 0) {
		how = loose
		p = c.scalar(p)
	}
	if end := c.telegram(key, p); end > 0 {
		return end
	}
	k := kindOf(key)
	if k == reference && start > 0 && c.s[start-1] == ':' && c.s[i] == ':' || strings.HasSuffix(c.s[:start], "checksum/") {
		return i + 1 // part of a name, as in an ARN; or an annotation that charts set
	}
	if k == harmless && c.s[i] == ':' {
		c.enter(key, p)
	}
	if k == harmless && c.block == 0 {
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
	return c.lines(i+1, p, c.value(k, how, p))
}

// lines masks the other lines of a block of YAML, if its sign is between from
// and p, and its first line was masked up to end. It returns the next place to
// look at.
func (c *scanner) lines(from, p, end int) int {
	if sign := c.s[from:p]; c.copied > p && end >= c.copied && strings.ContainsAny(sign, "|>") && strings.Contains(sign, "\n") {
		if to := c.blockEnd(p); to > end {
			c.mask(c.run(end, len(c.s), isBlank), to)
			return to
		}
	}
	return end
}

// scalar skips what YAML may have before a value: blanks, a line break if the
// next line is indented, a tag, an anchor and the sign of a block.
func (c *scanner) scalar(p int) int {
	const longest, most = 64, 3 // a tag, an anchor and a sign
	before := p
	for n := 0; ; n++ {
		from := c.gap(p, " \t\r\n")
		switch {
		case from == len(c.s), from > p && c.s[from-1] == '\n':
			return p // of the next line, which is not indented
		case strings.Contains(c.s[p:from], "\n") && n == 0 && c.yamlKey(from) != "":
			return before // an object, or no value
		case n == most, strings.IndexByte("!&|>", c.s[from]) < 0:
			return from
		}
		end := c.run(from, longest, func(b byte) bool { return !isBlank(b) })
		if end == len(c.s) || !isBlank(c.s[end]) || strings.IndexByte("|>", c.s[from]) >= 0 && strings.Trim(c.s[from+1:end], "0123456789+-") != "" {
			return from
		}
		p = end
	}
}

// keyBefore returns the word before the separator at i. Only quotes, blanks and
// a bracket may be between them.
func (c *scanner) keyBefore(i int) (string, bool) {
	const farthest = 64
	if c.key.from == c.key.to || i-c.key.to > farthest {
		return "", false
	}
	between := strings.Trim(c.s[c.key.to:i], `"'\ `)
	if between != "" && (between != "]" || c.key.from > 0 && c.has(c.key.from-1, Mask)) {
		return "", false
	}
	return c.s[c.key.from:c.key.to], true
}

// enter notes that the data of a Secret begins at p. The API server quotes a
// manifest that it cannot decode.
func (c *scanner) enter(key string, p int) {
	switch key {
	case "kind", "metadata", "type":
		c.block = 0
	case "data", "stringData":
		if !c.manifest && !c.has(c.gap(p, " "), "{") {
			return
		}
		c.block = data
		if key == "stringData" {
			c.block = stringData
		}
	}
}

// value handles the text after a sensitive key and its separator, from p on,
// and returns the next place to look at.
func (c *scanner) value(k kind, how strength, p int) int {
	p = c.gap(p, " ")
	from := p
	if p, how = c.rejected(k, how, p); p == len(c.s) || c.has(p, Mask) {
		return p
	}
	if k == harmless && c.quote(p) == 0 {
		return c.encoded(p)
	}
	if p == from && p > 1 && isBlank(c.s[p-2]) && kindOf(c.yamlKey(p)) != harmless {
		return p // the value before it is empty, or an object of YAML, which is indented
	}
	switch b := c.s[p]; {
	case how == tight && k != harmless && c.isOpaque(p): // c.bare masks it
	case c.quote(p) > 0:
		return c.quoted(k, how, p)
	case c.has(p, "[]uint8{"), c.has(p, "[]byte{"), c.has(p, "[]string{"):
		return c.bracketed(c.until(p, '{'), '}')
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

// isOpaque reports whether the value at p begins like a placeholder, but is too
// long for one and nothing closes it.
func (c *scanner) isOpaque(p int) bool {
	const shortest = 8
	v := c.s[p:c.bareEnd(p)]
	return len(v) >= shortest && strings.IndexByte("{(*%", v[0]) >= 0 && !strings.ContainsAny(v[1:], "(){}[]<>*:")
}

// yamlKey returns the key of YAML at p, if there is one.
func (c *scanner) yamlKey(p int) string {
	const longest = 64
	n := c.quote(p)
	from := p + n
	to := c.run(from, longest, isKey)
	if end := to + n; c.quote(to) != n || end >= len(c.s)-1 || c.s[end] != ':' || !isBlank(c.s[end+1]) {
		return ""
	}
	return c.s[from:to]
}

// blockEnd returns the end of the lines of YAML at p, the first of which is
// indented: those that are indented as far.
func (c *scanner) blockEnd(p int) int {
	indent := p - strings.LastIndexByte(c.s[:p], '\n')
	for {
		to := c.until(p, '\n')
		next := c.gap(to, " \t\r\n")
		if next == len(c.s) || next-strings.LastIndexByte(c.s[to:next], '\n')-to < indent {
			return to
		}
		p = next
	}
}

// encoded masks a value of YAML in the data of a Secret. The value begins after
// the blanks at p. A value of data must be base64, a value of stringData need
// not.
func (c *scanner) encoded(p int) int {
	p = c.run(p, len(c.s), isBlank)
	if !c.manifest {
		return p
	}
	to := c.bareEnd(p)
	v := c.s[p:to]
	if strings.HasSuffix(v, ":") || v == "|" || v == ">" || c.block == data && (len(v)%4 != 0 || !isBase64(v)) {
		return p
	}
	c.mask(p, to)
	return to
}

// quote returns the length of the quote at p, or 0. A quote in a quoted text
// has a backslash before it, and one in that 3, then 7 and 15.
func (c *scanner) quote(p int) int {
	const deepest = 16
	switch {
	case p < 0 || p >= len(c.s):
		return 0
	case c.s[p] == '"' || c.s[p] == '\'' || c.s[p] == '`':
		return 1
	case c.s[p] != '\\':
		return 0
	}
	to := c.run(p, deepest, func(b byte) bool { return b == '\\' })
	if n := to + 1 - p; n&(n-1) == 0 && to < len(c.s) && (c.s[to] == '"' || c.s[to] == '\'') {
		return n
	}
	return 0
}

// quoted masks the text between the quote at p and the next one like it.
func (c *scanner) quoted(k kind, how strength, p int) int {
	n := c.quote(p)
	from, to := p+n, len(c.s)
	for i, slashes := from, 0; i < len(c.s) && to == len(c.s); i++ {
		switch {
		case c.s[i] == '\\':
			slashes++
		case c.s[i] == c.s[from-1] && slashes%(2*n) == n-1: // others belong to backslashes, or to a quote within
			to = i - (n - 1)
		default:
			slashes = 0
		}
	}
	c.looked += to - from
	v := c.s[from:to]
	if c.isKept(k, how, v) || len(v) <= 1 || k == harmless && c.block == data && !isBase64(v) {
		return from
	}
	c.mask(from, to)
	return min(to+n, len(c.s))
}

// bracketed masks the text between the bracket at p and closing.
func (c *scanner) bracketed(p int, closing byte) int {
	from := p + 1
	if c.has(from, Mask) {
		return from
	}
	to := c.until(from, closing)
	c.mask(from, to)
	return to
}

// bare masks the value at p, which has no quotes or brackets around it.
func (c *scanner) bare(k kind, how strength, p int) int {
	to := c.bareEnd(p)
	v := c.s[p:to]
	if isScheme(v) && to < len(c.s) && c.s[to] == ' ' {
		return c.value(credential, tight, to)
	}
	if k == authorization && to < len(c.s) && c.s[to] == ' ' && all(v, func(b byte) bool { return isLetter(b) || b == '-' }) && !saysNothing(v) {
		if c.has(to+1, Mask) {
			return to + 1
		}
		if end := c.tokenEnd(to + 1); end-to > 8 && strings.ContainsAny(c.s[to:end], "0123456789") {
			c.mask(to+1, c.bareEnd(to+1)) // of an unknown scheme
			return c.end
		}
	}
	switch {
	case c.isKept(k, how, v) || isURL(v) || strings.HasPrefix(v, "-----"):
		return p
	case how != tight && c.isProse(v, to):
		return p
	case len(v) <= 2 && all(v, isDigit):
		return p
	}
	c.mask(p, to)
	return to
}

// bareEnd returns the end of the value at p: a blank, or a delimiter that the
// text after it confirms.
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

// delimits reports whether the byte at i ends a value. A credential may have
// any delimiter in it, so the text after it decides.
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

// endsAt reports whether another key, or the end of the text, is at i.
func (c *scanner) endsAt(i int) bool {
	if i == len(c.s) || isBlank(c.s[i]) || c.quote(i) > 0 {
		return true
	}
	const longest = 40
	j := c.run(i, longest, isKey)
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
		next := c.gap(to+1, " ")
		if next == len(c.s) || !c.endsAt(next) {
			break
		}
		to = c.bareEnd(next)
	}
	c.mask(p, to)
	return to
}
