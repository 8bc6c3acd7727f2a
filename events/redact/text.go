// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// Text replaces every credential it finds in s by [Mask]. When it finds none,
// it returns s itself. It leaves each Mask alone, so a text may be redacted
// again. Its time is linear in len(s).
func Text(s string) string {
	c := scanner{s: s}
	c.scan()
	return c.result()
}

// A scanner goes over s once. It steps from word to word and checks each
// separator between them: a value follows a key and a separator. A step looks
// ahead to the end of the value that it masks, or by a constant distance. This
// keeps the scan linear.
type scanner struct {
	s      string
	out    []byte
	copied int // s[:copied] is in out, masked
	looked int // number of bytes read, for the test of linear time

	key     span // the last word
	stretch int  // end of the last measured text without blanks and quotes
	at      int  // the last '@' in that text
	end     int  // end of the last measured value
	colon   int  // the first ':' since the last blank; -1 when there is none
	block   block

	manifest bool // the text has the manifest of a Secret as YAML
	login    bool // a command took a user: -p may be a password
}

type span struct{ from, to int }

// A block is the part of a Secret manifest that the scanner is in.
type block uint8

const (
	_          block = iota
	data             // base64 values are masked
	stringData       // all values are masked
)

func (c *scanner) mask(from, to int) {
	if from < c.copied || from >= to || c.s[from:to] == Mask {
		return
	}
	c.out = append(c.out, c.s[c.copied:from]...)
	c.out = append(c.out, Mask...)
	c.copied = to
}

func (c *scanner) result() string {
	if c.out == nil {
		return c.s
	}
	return string(append(c.out, c.s[c.copied:]...))
}

func (c *scanner) scan() {
	c.colon = -1
	c.manifest = strings.Contains(c.s, "kind: Secret")
	for i := 0; i < len(c.s); {
		i = c.step(i)
	}
}

// step handles the byte at i and returns the next place to look at, which is
// after i.
func (c *scanner) step(i int) int {
	c.looked++
	switch b := c.s[i]; {
	case isWord(b):
		return c.word(i)
	case b == ' ' || b == '"' || b == '\'' || b == '`':
		c.colon = -1
	case b == ':' || b == '=':
		return c.separator(i)
	case b == '\\':
		return i + c.escape(i)
	case b == '%' && c.isEscape(i):
		return i + 3
	case b == '@':
		c.dataSource(i)
	case b == '>':
		return c.element(i)
	case b == '}':
		c.block = 0
	}
	return i + 1
}

// word handles the word at i.
func (c *scanner) word(i int) int {
	j := c.wordEnd(i)
	c.key = span{i, j}
	if end := c.privateKey(i, j); end > 0 {
		return end
	}
	from := i
	for from < j && (c.s[from] == '-' || c.s[from] == '_') {
		from++
	}
	if from == j {
		return j
	}
	if end := c.token(from, j); end > 0 {
		c.mask(from, end)
		c.key = span{}
		return end
	}
	// mysql takes a password in one word with -p.
	if j < len(c.s) && (c.s[j] == ' ' || from > i && c.quote(j) > 0) || c.login && j-i > 2 && c.has(i, "-p") {
		return c.phrase(i, j)
	}
	return j
}

// wordEnd is run for words. It makes no call for a byte, because most of a text
// is words.
func (c *scanner) wordEnd(i int) int {
	j := i
	for j < len(c.s) && isWord(c.s[j]) {
		j++
	}
	c.looked += j - i
	return j
}

// run returns the end of the bytes from i on for which is reports true. It
// reads limit bytes at most.
func (c *scanner) run(i, limit int, is func(byte) bool) int {
	j := i
	for j < len(c.s) && j-i < limit && is(c.s[j]) {
		j++
	}
	c.looked += j - i
	return j
}

// gap returns the place after the bytes at i that are in set.
func (c *scanner) gap(i int, set string) int {
	return c.run(i, len(c.s), func(b byte) bool { return strings.IndexByte(set, b) >= 0 })
}

// until returns the place of the next b from i on, or the end of the text.
func (c *scanner) until(i int, b byte) int {
	n := strings.IndexByte(c.s[i:], b)
	if n < 0 {
		n = len(c.s) - i
	}
	c.looked += n
	return i + n
}

// stretchEnd returns the end of the text from i on that has no blank and no
// quote.
func (c *scanner) stretchEnd(i int) int {
	if i <= c.stretch {
		return c.stretch
	}
	j := i
	for j < len(c.s) && !isBlank(c.s[j]) && c.s[j] != '"' && c.s[j] != '\'' && c.s[j] != '`' {
		if c.s[j] == '@' {
			c.at = j
		}
		j++
	}
	c.looked += j - i
	c.stretch = j
	return j
}

// escape returns the length of the escape sequence at i, which begins with a
// backslash. The sequence is not part of the word after it.
func (c *scanner) escape(i int) int {
	if c.has(i, `\u`) {
		return min(6, len(c.s)-i)
	}
	return min(2, len(c.s)-i)
}

// isEscape reports whether the byte at p and the next two are the escape of a
// byte in a URL.
func (c *scanner) isEscape(p int) bool {
	return p+2 < len(c.s) && isHex(c.s[p+1]) && isHex(c.s[p+2])
}

func (c *scanner) has(i int, prefix string) bool {
	return len(c.s)-i >= len(prefix) && c.s[i:i+len(prefix)] == prefix
}

func (c *scanner) hasFold(i int, prefix string) bool {
	return len(c.s)-i >= len(prefix) && strings.EqualFold(c.s[i:i+len(prefix)], prefix)
}

const digits = "0123456789"

func isWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '_'
}

func isHex(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isBlank(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// isToken reports whether b may be part of a token: base64 in either alphabet,
// or a dot.
func isToken(b byte) bool {
	return isWord(b) || b == '.' || b == '~' || b == '+' || b == '/' || b == '='
}

// isKey reports whether b may be part of a key with dots.
func isKey(b byte) bool { return isWord(b) || b == '.' }
