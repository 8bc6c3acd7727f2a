// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// spares reports whether a value that is set off by quotes or delimiters is none to mask.
func (c *scanner) spares(k kind, how strength, v string) bool {
	switch {
	case v == Mask || all(v, func(b byte) bool { return b == '*' }): // "" is
		return true
	case k == harmless:
		return false
	case strings.HasPrefix(v, "${") || strings.HasPrefix(v, "$(") || v[0] == '<' || v[0] == '%' && len(v) <= 3:
		return true
	case saysNothing(v):
		return true
	case k == reference:
		return isName(v)
	}
	return isName(v) && (how == loose && strings.ContainsAny(v, "-./") && !isID(v) ||
		how == argument && (strings.HasSuffix(v, ".key") || strings.HasSuffix(v, ".pem")))
}

// longestWord is more than any word of a message has.
const longestWord = 24

// isProse reports whether v, which ends at end, is a word of a message: the next link of a chain of errors, a number, or one
// word of several.
func (c *scanner) isProse(v string, end int) bool {
	if len(v) > longestWord {
		return false
	}
	if len(v) <= 4 && all(v, isDigit) || isLink(strings.TrimPrefix(v, "-")) {
		return true
	}
	w := strings.TrimRight(v, ".,;!?)")
	if !all(w, isLetter) {
		return false
	}
	if saysNothing(w) {
		return true
	}
	if len(w) < len(v) {
		return false
	}
	// Another word follows, or a quoted one.
	from := end + 1
	if c.quote(from) > 0 {
		return true
	}
	to := from
	for to < len(c.s) && to-from < longestWord && (isLetter(c.s[to]) || c.s[to] == '\'') {
		to++
	}
	c.looked += to - from
	return c.has(from, Mask) || to > from && (to == len(c.s) || !isWord(c.s[to]))
}

// isLink reports whether v is the beginning of the next error of a chain, such as "oauth2:".
func isLink(v string) bool {
	w, ok := strings.CutSuffix(v, ":")
	w = strings.TrimRight(w, "0123456789")
	return ok && len(v)-len(w) <= 7 && all(w, isLetter)
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }

// isName reports whether v looks like the name of a Kubernetes object, or a namespace and a name: lower case, and more than
// one run of letters and digits together.
func isName(v string) bool {
	if len(v) > 253 {
		return false
	}
	parts, digits := 1, false
	for i := range len(v) {
		switch b := v[i]; {
		case 'a' <= b && b <= 'z':
		case isDigit(b):
			digits = true
		case (b == '-' || b == '.' || b == '/') && i > 0 && i < len(v)-1:
			parts++
		default:
			return false
		}
	}
	return parts > 1 || !digits || len(v) < 8
}

// isID reports whether v is a UUID or a bootstrap token of Kubernetes: names by their letters, but no names that people give.
func isID(v string) bool {
	if len(v) == 23 && v[6] == '.' {
		return strings.IndexByte(v[7:], '-') < 0
	}
	return len(v) == 36 && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' &&
		all(v, func(b byte) bool { return b == '-' || isHex(b) })
}

// isURL reports whether v begins with a scheme, so that its credentials are found by their place in it.
func isURL(v string) bool {
	scheme, _, ok := strings.Cut(v[:min(len(v), longestWord)], "://")
	return ok && all(scheme, func(b byte) bool { return isWord(b) || b == '+' })
}

func isBase64(v string) bool {
	v = strings.TrimRight(v, "=")
	return len(v) >= 6 && all(v, func(b byte) bool { return isAlnum(b) || b == '+' || b == '/' })
}

func isScheme(v string) bool {
	for _, s := range [...]string{"bearer", "basic", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256"} {
		if strings.EqualFold(v, s) {
			return true
		}
	}
	return false
}
