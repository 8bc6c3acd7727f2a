// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"strings"
)

// phrase handles the word i..j before a blank. If the word is a flag, a quote
// may follow it instead. A phrase is an authorization scheme and its value, or
// a flag and its argument.
func (c *scanner) phrase(i, j int) int {
	w := c.s[i:j]
	if w == "login" || w == "mysql" || w == "mysqldump" || w == "sshpass" || strings.HasPrefix(w, "-u") || strings.HasPrefix(w, "--user") {
		c.login = true
	}
	if w[0] != '-' && w[0]|0x20 != 'b' {
		return j
	}
	p := c.next(j)
	from := p + c.quote(p)
	switch {
	case c.login && strings.HasPrefix(w, "-p") && c.isPasswordFlag(w, p, j):
		if len(w) > 2 {
			from = i + 2
		}
		to := c.stretchEnd(from)
		c.mask(from, len(strings.TrimRight(c.s[:to], ":,")))
		return to
	case strings.EqualFold(w, "bearer"):
		end := c.tokenEnd(from)
		quoted := from > p
		v := c.s[from:end]
		if len(v) >= 8 && c.quote(end) > 0 == quoted && (quoted || len(v) >= 20 || strings.ContainsAny(v, digits+"=._")) {
			c.mask(from, end)
			return end
		}
	case strings.EqualFold(w, "basic"):
		end := c.tokenEnd(p)
		if isUserPassword(c.s[p:end]) {
			c.mask(p, end)
			return end
		}
	case p == j:
	case w == "-u" || w == "--user":
		end := c.stretchEnd(from)
		if n := strings.IndexByte(c.s[from:end], ':'); n > 0 && !all(c.s[from+n+1:end], isDigit) {
			c.mask(from+n+1, end)
			return end
		}
	case w[0] == '-' && p < len(c.s) && c.s[p] != '-' && c.s[p] != '=' && kindOf(w) != harmless:
		return c.value(kindOf(w), argument, p)
	}
	return j
}

// next returns the place of the argument after the flag that ends at j. The
// argument follows blanks. After a quoted flag it has the same quote, and a
// comma or blanks come before it. If there is none, next returns j.
func (c *scanner) next(j int) int {
	n := c.quote(j)
	if n == 0 {
		return c.gap(j, " ")
	}
	p := c.gap(j+n, " ,")
	if p == j+n || !c.has(p, c.s[j:j+n]) || c.has(p+n, "-") {
		return j
	}
	return p
}

// isPasswordFlag reports whether the flag w, which ends at j, sets a password
// after a user. It is -p with the value in the same word, or -p and a value at
// p that is not a port, a path or another flag.
func (c *scanner) isPasswordFlag(w string, p, j int) bool {
	v := w[2:]
	if v == "" && p > j {
		from := p + c.quote(p)
		v = c.s[from:c.stretchEnd(from)]
	}
	return len(v) >= 4 && strings.IndexByte("-[<$/", v[0]) < 0 && !strings.HasPrefix(w, "-pass") && !isPath(v) && !saysNothing(v) &&
		!all(v, func(b byte) bool { return isDigit(b) || b == ':' })
}

// isUserPassword reports whether v is a value of the Basic scheme.
func isUserPassword(v string) bool {
	if len(v) < 4 || len(v) > 1024 {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "=."))
	return err == nil && strings.Contains(string(plain), ":") && all(string(plain), func(b byte) bool { return b >= ' ' && b < 0x7f })
}

// element masks the text of an XML element with a sensitive name. Its '>' is at
// i.
func (c *scanner) element(i int) int {
	if c.key.from == 0 || c.s[c.key.from-1] != '<' || kindOf(c.s[c.key.from:i]) == harmless {
		return i + 1
	}
	from := i + 1
	to := c.until(from, '<')
	if !c.has(to, "</") && (from == to || isBlank(c.s[from]) || c.quote(from) > 0) {
		return from // a placeholder, such as --password=<password>
	}
	c.mask(from, to)
	return to
}
