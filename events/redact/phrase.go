// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"strings"
)

// phrase deals with the word i..j before a blank or, when it is a flag, a quote: an authorization scheme, or a flag and its
// argument.
func (c *scanner) phrase(i, j int) int {
	w := c.s[i:j]
	if w[0] != '-' && w[0]|0x20 != 'b' {
		return j
	}
	p := c.next(j)
	switch {
	case strings.EqualFold(w, "bearer"):
		end := c.tokenEnd(p)
		if v := c.s[p:end]; len(v) >= 8 && c.quote(end) == 0 && (len(v) >= 20 || strings.ContainsAny(v, "0123456789=._")) && !strings.Contains(v, "://") {
			c.mask(p, end)
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
		p += c.quote(p)
		end := c.stretchEnd(p)
		if n := strings.IndexByte(c.s[p:end], ':'); n > 0 && !all(c.s[p+n+1:end], isDigit) {
			c.mask(p+n+1, end)
			return end
		}
	case w[0] == '-' && p < len(c.s) && c.s[p] != '-' && c.s[p] != '=' && kindOf(w) != harmless:
		return c.value(kindOf(w), argument, p)
	}
	return j
}

// isUserPassword reports whether v is what the Basic scheme sends.
func isUserPassword(v string) bool {
	if len(v) < 4 || len(v) > 1024 {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "=."))
	return err == nil && strings.Contains(string(plain), ":") && all(string(plain), func(b byte) bool { return b >= ' ' && b < 0x7f })
}

// element masks the text of an XML element with a sensitive name, whose '>' stands at i.
func (c *scanner) element(i int) int {
	if c.key.from == 0 || c.s[c.key.from-1] != '<' || kindOf(c.s[c.key.from:i]) == harmless {
		return i + 1
	}
	from, to := i+1, len(c.s)
	if n := strings.IndexByte(c.s[from:], '<'); n >= 0 {
		to = from + n
	}
	c.looked += to - from
	if !c.has(to, "</") && (from == to || isBlank(c.s[from]) || c.quote(from) > 0) {
		return from // a placeholder, such as --password=<password>
	}
	c.mask(from, to)
	return to
}
